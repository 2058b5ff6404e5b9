import { proofHeader } from '#cabinet/api/proof-of-work'
import { solve } from '#standalone/solve-proof'
import type { Visitor } from './cabinet.ts'

/** A proof of work that one call of an endpoint may be made with. */
export async function proofFor(visitor: Visitor, path: string, body: object): Promise<string> {
  const { body: problem } = await visitor.call('POST', path, body, { [proofHeader]: '' })
  return solve(problem.challenge)
}

/** Posts as the pages do: where a proof of work is asked for, with one. */
export async function postProven(visitor: Visitor, path: string, body: object) {
  const answer = await visitor.post(path, body)
  if (answer.status !== 428) return answer
  return visitor.call('POST', path, body, { [proofHeader]: await solve(answer.body.challenge) })
}
