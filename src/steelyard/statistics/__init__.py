"""Numbers in, numbers out: how sure is it, and is A better than B."""
