import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { proofHeader } from '#cabinet/api/proof-of-work'
import type { Visitor } from './cabinet.ts'

/** Solves a challenge as any ALTCHA library does. */
export async function solve(challenge: Challenge): Promise<string> {
  const solution = await solveChallenge({ challenge, deriveKey })
  return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64')
}

/** Posts as the pages do: where a proof of work is asked for, with one. */
export async function postProven(visitor: Visitor, path: string, body: object) {
  const answer = await visitor.post(path, body)
  if (answer.status !== 428) return answer
  return visitor.call('POST', path, body, { [proofHeader]: await solve(answer.body.challenge) })
}
