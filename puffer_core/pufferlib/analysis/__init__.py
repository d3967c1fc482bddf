"""What finished and running runs say, read from their directories alone: neither torch nor an env is loaded.

index      find runs on disk; what each one is and how far it came       lookup     a run by its path or a part of its name
query      filter and sort them by settings and metrics                  settings   what a run changed, how runs differ
groups     runs that differ only in their seed                           series     metrics over steps or time, smoothed
aggregate  interquartile means and intervals over seeds                  plots      learning curves (matplotlib)
report     a page about one run, on its own                              text       short figures and tables
"""
