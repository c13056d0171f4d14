"""What Muse asks the user: permissions and questions."""
