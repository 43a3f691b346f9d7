"""What was on the screen, second by second, in a file: written, read, cut. Knows neither a database nor a screen."""
