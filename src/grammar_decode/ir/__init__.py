"""Grammar IR: the data (`nodes`), its constructors (`build`) and its byte format (`encode`)."""
