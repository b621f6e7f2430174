"""The answers of two versions of Steelyard, held against each other: what is asked, how it is run, what was renamed."""
