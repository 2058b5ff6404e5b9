import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks until there is an answer, and gives it; `undefined` when there was none (undefined or false) within `withinMs`.
 * A question that throws has no answer yet: what is asked may be dead at this moment.
 */
export async function until<Answer>(
  ask: () => Answer | Promise<Answer>,
  { withinMs, everyMs = 50 }: { readonly withinMs: number; readonly everyMs?: number },
): Promise<Exclude<Answer, false> | undefined> {
  for (const endAtMs = performance.now() + withinMs; ; await pause(everyMs)) {
    const answer = await askOnce(ask)
    if (answer !== undefined && answer !== false) return answer as Exclude<Answer, false>
    if (performance.now() >= endAtMs) return undefined
  }
}

async function askOnce<Answer>(ask: () => Answer | Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await ask()
  } catch {
    return undefined
  }
}
