/** A statement that was carried out. */
export type DoneStatement = {
  readonly text: string
  /** Its text and parameters, and the rows that it answered. */
  readonly said: string
}

/** Follows what one client and Postgres say to each other. A client sends a statement once the last one was answered. */
export function readStatements() {
  const fromClient = splitMessages('client')
  const fromServer = splitMessages('server')
  let current: { text: string; said: string } | undefined
  return {
    /** Reads bytes from the client. */
    hear(bytes: Buffer): void {
      for (const { type, body } of fromClient(bytes)) {
        if (type === 'Q') current = { text: textAt(body, 0), said: '' }
        else if (type === 'P') current = { text: textAt(body, body.indexOf(0) + 1), said: '' }
        else if (type === 'B' && current !== undefined) current.said += body.toString('latin1')
      }
    },
    /** What Postgres answers; yields the statements that are done by that. */
    answer(bytes: Buffer): readonly DoneStatement[] {
      const done: DoneStatement[] = []
      for (const { type, body } of fromServer(bytes)) {
        if (type === 'D' && current !== undefined) current.said += body.toString('latin1')
        if (type !== 'Z' || current === undefined) continue
        done.push({ text: current.text, said: current.text + current.said })
        current = undefined
      }
      return done
    },
  }
}

const headBytes = 5

/** Messages as they end; the first one of a client has no type. */
function splitMessages(whose: 'client' | 'server') {
  let rest = Buffer.alloc(0)
  let isStarted = whose === 'server'
  return (bytes: Buffer): readonly { readonly type: string; readonly body: Buffer }[] => {
    rest = Buffer.concat([rest, bytes])
    const messages: { type: string; body: Buffer }[] = []
    for (;;) {
      const head = isStarted ? headBytes : headBytes - 1
      if (rest.length < head) return messages
      const length = rest.readInt32BE(head - 4) + (isStarted ? 1 : 0)
      if (rest.length < length) return messages
      if (isStarted)
        messages.push({ type: String.fromCharCode(rest[0] ?? 0), body: rest.subarray(head, length) })
      isStarted = true
      rest = rest.subarray(length)
    }
  }
}

function textAt(body: Buffer, start: number): string {
  const end = body.indexOf(0, start)
  return body.toString('utf8', start, end < 0 ? body.length : end)
}
