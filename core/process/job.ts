/** Work that a process does again and again until it stops; every run may be killed or doubled without harm. */
export type Job = {
  /** In metrics and logs. */
  readonly name: string
  /**
   * One run; `more` asks for the next one at once. It may end early, and fail, when the process stops (`stopping`).
   *
   * @param ending aborts 4 s later, and with it whatever waits for others. A call that is nearly done need not be repeated.
   */
  readonly run: (stopping: AbortSignal, ending: AbortSignal) => Promise<'more' | 'idle'>
  readonly everyMs: number
  /** Longest wait after failures in a row. Default 2 s. */
  readonly retryMsMax?: number
  /** Pause after a run, even if it is woken during the pause. Default none. */
  readonly restMs?: number
  /** The kinds of changes in Postgres whose hints start its next run at once. */
  readonly wokenBy?: readonly string[]
  /** It measures, or looks for what others have missed: a process in which it fails does its work, and stays ready. */
  readonly mayFail?: true
}
