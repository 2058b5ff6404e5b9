import { randomUUID } from 'node:crypto'
import { Agent, request } from 'undici'
import type { ChangedSettings, KeptNotification } from '../control-contracts.ts'

/** News of an object as it was then. */
export type Notification = KeptNotification & {
  readonly object: object
  readonly tries: number
  readonly madeAtMs: number
  /** Of the next try; undefined: none. */
  readonly dueAtMs: number | undefined
}

export type Notifier = ReturnType<typeof createNotifier>

export type NotifierDeps = {
  readonly now: () => number
  /** Where notifications go at first. */
  readonly notifyUrl: string | undefined
  /** The address of ours that they come from; undefined: whichever the system takes. */
  readonly notifyFrom: string | undefined
  /** Gets each change, to be kept elsewhere. */
  readonly record: (notification: Notification) => void
}

/** The provider repeats for this long. */
const repeatedForMs = 24 * 60 * 60_000
/** Assumed: the documents say nothing of pauses. Each is twice the one before. */
const firstPauseMs = 10_000
const pauseMsMax = 60 * 60_000
const answerWithinMs = 10_000
const notificationsMax = 20_000
const connectionsMax = 128

/** Sends what happened until it was taken with a 200. */
export function createNotifier({ now, notifyUrl, notifyFrom, record }: NotifierDeps) {
  const notifications = new Map<string, Notification>()
  const settings = { notifyUrl: notifyUrl ?? null, notifications: 'sent', copies: 1 }
  const sending = new Set<string>()
  let hasStopped = false
  const agent = new Agent({
    connections: connectionsMax,
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
    connect: { timeout: answerWithinMs },
    ...(notifyFrom === undefined ? {} : { localAddress: notifyFrom }),
  })

  function put(notification: Notification): void {
    notifications.set(notification.id, notification)
    const [oldest] = notifications.keys()
    if (notifications.size > notificationsMax && oldest !== undefined) notifications.delete(oldest)
  }

  function change(notification: Notification): void {
    if (hasStopped) return
    put(notification)
    record(notification)
  }

  async function tryOnce(id: string): Promise<void> {
    const notification = notifications.get(id)
    if (notification === undefined || settings.notifyUrl === null || sending.has(id)) return
    sending.add(id)
    const statuses = await send(agent, notification, settings.copies, settings.notifyUrl)
    sending.delete(id)
    change(afterTry(notifications.get(id) ?? notification, statuses, now()))
  }

  return {
    /** Something happened. @param isLost it is never sent */
    notify(event: string, object: { readonly id: string }, isLost: boolean): void {
      const mode = isLost ? 'lost' : settings.notifications
      const state = mode === 'sent' ? 'waiting' : mode === 'held' ? 'held' : 'lost'
      const madeAtMs = now()
      const dueAtMs = state === 'waiting' ? madeAtMs : undefined
      const id = randomUUID()
      change({ id, event, objectId: object.id, state, statuses: [], tries: 0, object, madeAtMs, dueAtMs })
    },
    /** Begins whatever is due. */
    sendDue(): void {
      const due = [...notifications.values()].filter(
        ({ dueAtMs }) => dueAtMs !== undefined && dueAtMs <= now(),
      )
      for (const { id } of due) void tryOnce(id)
    },
    /** Sends one now; undefined: there is none of this id, or nowhere to send it. */
    async deliver(id: string, copies: number, to: string | undefined): Promise<number[] | undefined> {
      const notification = notifications.get(id)
      const url = to ?? settings.notifyUrl
      if (notification === undefined || url === null) return undefined
      const statuses = await send(agent, notification, copies, url)
      change(afterTry(notifications.get(id) ?? notification, statuses, now()))
      return statuses
    },
    set({ notifyUrl: url, notifications: mode, copies }: ChangedSettings): void {
      if (url !== undefined) settings.notifyUrl = url
      if (mode !== undefined) settings.notifications = mode
      if (copies !== undefined) settings.copies = copies
    },
    restore: put,
    list: (): readonly Notification[] => [...notifications.values()],
    /** When the next try is due that is not running. */
    nextDueAtMs(): number | undefined {
      if (settings.notifyUrl === null) return undefined
      const due = [...notifications.values()].flatMap(({ id, dueAtMs }) =>
        dueAtMs === undefined || sending.has(id) ? [] : dueAtMs,
      )
      return due.length === 0 ? undefined : due.reduce((a, b) => Math.min(a, b))
    },
    stop(): Promise<void> {
      hasStopped = true
      return agent.destroy()
    },
  }
}

/** Answers the status of each copy; 0: no answer. */
async function send(
  agent: Agent,
  { event, object }: Notification,
  copies: number,
  url: string,
): Promise<number[]> {
  const body = JSON.stringify({ type: 'notification', event, object })
  const headers = { 'content-type': 'application/json' }
  const copy = async () => {
    try {
      const response = await request(url, { method: 'POST', headers, body, dispatcher: agent })
      await response.body.dump()
      return response.statusCode
    } catch {
      return 0
    }
  }
  return await Promise.all(Array.from({ length: copies }, copy))
}

/** What a try leads to: only a 200 ends the repetitions before their time. */
function afterTry(notification: Notification, tried: readonly number[], nowMs: number): Notification {
  const statuses = [...notification.statuses, ...tried].slice(-1_000)
  const after = { ...notification, statuses, tries: notification.tries + 1 }
  if (notification.state === 'delivered' || tried.includes(200))
    return { ...after, state: 'delivered', dueAtMs: undefined }
  if (notification.dueAtMs === undefined) return after
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(notification.tries, 20), pauseMsMax)
  const dueAtMs = nowMs + pauseMs
  return dueAtMs < notification.madeAtMs + repeatedForMs
    ? { ...after, dueAtMs }
    : { ...after, state: 'given_up', dueAtMs: undefined }
}
