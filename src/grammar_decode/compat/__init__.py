"""The names of other packages over this one, so that code written for them runs by changing an import."""
