/** A split request in the line of its provider. */
export type LinePlace = {
  /** Calls `go` when it is the turn of this request's next call, which may be at once. */
  wait(go: () => void): void
  /** The request is over: calls that it still owed are owed no more. */
  leave(): void
}

/**
 * The further calls of split requests at one provider, in the order in which the requests began: a later one
 * delays no earlier one.
 */
export type CallLine = {
  /** @param take takes a place for a call: 0; or the ms until there may be one. */
  join(callCount: number, take: () => number): LinePlace
  /** Calls of all in line that were not sent yet. */
  owed(): number
  /** Whether a call could be sent now if there was a place. */
  isWaiting(): boolean
}

type Member = { owed: number; go: (() => void) | undefined; readonly take: () => number }

/** An empty line. It is never longer than there are attempts in progress. */
export function createCallLine(): CallLine {
  const members = new Set<Member>()
  let timer: NodeJS.Timeout | undefined

  function findNext(): Member | undefined {
    for (const member of members) if (member.go !== undefined) return member
    return undefined
  }

  function serve(): void {
    for (let next = findNext(); next !== undefined; next = findNext()) {
      const waitMs = next.take()
      if (waitMs > 0) {
        clearTimeout(timer) // `go` may have come back here
        timer = setTimeout(serve, waitMs)
        return
      }
      const { go } = next
      next.owed -= 1
      next.go = undefined
      go?.()
    }
  }

  return {
    join(callCount, take) {
      const member: Member = { owed: callCount, go: undefined, take }
      members.add(member)
      return {
        wait(go) {
          member.go = go
          serve()
        },
        leave() {
          members.delete(member)
          if (members.size === 0) clearTimeout(timer)
        },
      }
    },
    owed() {
      let sum = 0
      for (const { owed } of members) sum += owed
      return sum
    },
    isWaiting: () => findNext() !== undefined,
  }
}
