export type Clock = ReturnType<typeof createClock>

/** The time of this machine, or a later time. */
export function createClock() {
  let aheadMs = 0
  return {
    /** In ms since 1970. */
    now: (): number => Date.now() + aheadMs,
    moveForward(ms: number): void {
      aheadMs += ms
    },
  }
}
