"""What much of everything does to the adapter: how much memory and how many descriptors it takes, and whether all of it
arrives."""
