"""The adapter with shorter waits: what is changed is really changed, and what is not there is missed."""

from __future__ import annotations

from importlib.util import module_from_spec

import pytest

import adapter.bridge
import adapter.msp
from adapter.bridge.sessions import ANSWER_SECONDS
from tests.hurried import Hurry

MODULE = "adapter.bridge.sessions"


def test_a_constant_has_its_new_value_where_it_is_used_and_nothing_else_has_changed() -> None:
    spec = Hurry(["bridge__sessions__LEFT_SECONDS=0.25"]).find_spec(MODULE, adapter.bridge.__path__)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (module.LEFT_SECONDS, module.ANSWER_SECONDS) == (0.25, ANSWER_SECONDS)


def test_so_has_one_without_a_declared_type() -> None:
    spec = Hurry(["msp__process__TERM_GRACE=0.25"]).find_spec("adapter.msp.process", adapter.msp.__path__)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.TERM_GRACE == 0.25


def test_other_modules_are_left_alone() -> None:
    assert Hurry(["msp__session__LEAVE_SECONDS=1"]).find_spec(MODULE, adapter.bridge.__path__) is None


def test_a_constant_that_is_not_there_is_named() -> None:
    spec = Hurry(["bridge__sessions__PATIENCE=1"]).find_spec(MODULE, adapter.bridge.__path__)
    assert spec is not None and spec.loader is not None
    with pytest.raises(AttributeError, match="PATIENCE"):
        spec.loader.exec_module(module_from_spec(spec))
