"""What the commands do, without the terminal: each takes options and gives a `report.result.Result`."""
