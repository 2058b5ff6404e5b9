import { randomUUID } from 'node:crypto'
import { Agent, request } from 'undici'
import type { ChangedSettings, KeptNotification } from '../control-contracts.ts'

/** A change of an object, with the object's state at that time. */
export type Notification = KeptNotification & {
  readonly object: object
  readonly tries: number
  readonly madeAtMs: number
  /** Time of the next attempt; undefined: none. */
  readonly dueAtMs: number | undefined
}

export type Notifier = ReturnType<typeof createNotifier>

export type NotifierDeps = {
  readonly now: () => number
  /** The initial webhook URL. */
  readonly notifyUrl: string | undefined
  /** The local address to send from; undefined: chosen by the system. */
  readonly notifyFrom: string | undefined
  /** Gets each change, for storage. */
  readonly record: (notification: Notification) => void
}

/** How long the provider repeats a notification. */
const repeatedForMs = 24 * 60 * 60_000
/** Assumed: the documentation does not specify pauses. Each is twice the previous one. */
const firstPauseMs = 10_000
const pauseMsMax = 60 * 60_000
const answerWithinMs = 10_000
const notificationsMax = 20_000
const connectionsMax = 128

/** Sends notifications until each gets a 200. */
export function createNotifier({ now, notifyUrl, notifyFrom, record }: NotifierDeps) {
  const notifications = new Map<string, Notification>()
  const settings = { notifyUrl: notifyUrl ?? null, notifications: 'sent', copies: 1 }
  const sending = new Set<string>()
  let hasStopped = false
  const agent = openAgent(notifyFrom)

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
    /**
     * Adds an event.
     * @param isLost never sends it
     */
    notify(event: string, object: { readonly id: string }, isLost: boolean): void {
      change(newNotification(event, object, isLost ? 'lost' : settings.notifications, now()))
    },
    /** Starts everything that is due. */
    sendDue(): void {
      const due = [...notifications.values()].filter(
        ({ dueAtMs }) => dueAtMs !== undefined && dueAtMs <= now(),
      )
      for (const { id } of due) void tryOnce(id)
    },
    /** Sends a notification now; undefined: its ID is unknown, or there is no webhook URL. */
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
    /** The time of the next attempt that is not running. */
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

function openAgent(localAddress: string | undefined): Agent {
  return new Agent({
    connections: connectionsMax,
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
    connect: { timeout: answerWithinMs },
    ...(localAddress === undefined ? {} : { localAddress }),
  })
}

function newNotification(
  event: string,
  object: { readonly id: string },
  mode: string,
  madeAtMs: number,
): Notification {
  const state = mode === 'sent' ? 'waiting' : mode === 'held' ? 'held' : 'lost'
  const dueAtMs = state === 'waiting' ? madeAtMs : undefined
  const id = randomUUID()
  return { id, event, objectId: object.id, state, statuses: [], tries: 0, object, madeAtMs, dueAtMs }
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

/** The result of an attempt: only a 200 ends the repetitions early. */
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
