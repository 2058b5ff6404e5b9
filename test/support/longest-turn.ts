/** Most that one turn of the event loop, which the test shares with a gateway, has computed during `work`; milliseconds. */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0
  let isOver = false
  let before = process.threadCpuUsage()
  function look(): void {
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1000)
    before = process.threadCpuUsage()
    if (!isOver) setImmediate(look)
  }
  look()
  await work()
  isOver = true
  return longestMs
}
