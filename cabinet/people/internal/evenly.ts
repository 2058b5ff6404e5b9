import { setTimeout as pause } from 'node:timers/promises'

/**
 * Does `work`, and returns after `leastMs` at the earliest. Response times must not reveal whether an address is
 * known. Errors are thrown immediately.
 */
export async function evenly<Answer>(leastMs: number, work: () => Promise<Answer>): Promise<Answer> {
  const [answer] = await Promise.all([work(), pause(leastMs)])
  return answer
}
