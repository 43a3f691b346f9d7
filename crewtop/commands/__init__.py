"""What the commands do, one file a kind; each is imported when its command runs."""
