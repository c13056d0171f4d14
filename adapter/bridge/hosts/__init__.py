"""What hosts the sessions run on, which login they have, and how they are replaced."""
