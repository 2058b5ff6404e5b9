import { type Challenge, createChallenge, randomInt, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { z } from 'zod'
import { derivedKeys } from '#core/process/derived-keys'
import type { KeyList } from '#core/process/key-list'
import { type ProofsOfWork, workMax } from '../../../api/proof-of-work.ts'
import type { Throttles } from '../../../api/throttles.ts'

/** PBKDF2 iterations per attempt: 1 ms on a desktop processor (measured). */
const cost = 5_000
/** Attempts per unit of work, 112 on average. A phone at a sixth of the speed takes 1.2 s at most. */
const tries = { min: 75, max: 150 } as const
/** Enough to solve a challenge on a slow phone. */
const goodForS = 600
/** Many times the length of a proof. */
const proofLengthMax = 4_096

const payload = z.strictObject({
  challenge: z.looseObject({
    signature: z.string(),
    parameters: z.looseObject({
      algorithm: z.string(),
      nonce: z.string(),
      salt: z.string(),
      cost: z.number(),
      keyLength: z.number(),
      keyPrefix: z.string(),
      keySignature: z.string(),
      expiresAt: z.number(),
      data: z.strictObject({ operation: z.string(), work: z.number() }),
    }),
  }),
  solution: z.object({ counter: z.number(), derivedKey: z.string() }),
})

/** Proofs of work by altcha-lib. Used proofs are counted like calls, over all replicas. */
export function createProofsOfWork(sealingKeys: KeyList<Uint8Array>, throttles: Throttles): ProofsOfWork {
  const challengeKeys = hexOf(derivedKeys(sealingKeys, 'model-gateway challenge'))
  const solutionKeys = hexOf(derivedKeys(sealingKeys, 'model-gateway solution'))
  const taken = { name: 'proof', count: 1, perS: goodForS + 1 }

  async function isGood({ challenge, solution }: z.output<typeof payload>): Promise<boolean> {
    for (const [at, hmacSignatureSecret] of challengeKeys.entries()) {
      const hmacKeySignatureSecret = solutionKeys[at] ?? ''
      const secrets = { hmacSignatureSecret, hmacKeySignatureSecret }
      const { verified } = await verifySolution({
        challenge: challenge as Challenge,
        solution,
        deriveKey,
        ...secrets,
      })
      if (verified) return true
    }
    return false
  }

  return {
    challenge(operation, work) {
      const units = Math.min(workMax, work)
      return createChallenge({
        algorithm: 'PBKDF2/SHA-256',
        cost,
        deriveKey,
        data: { operation, work: units },
        counter: randomInt(tries.min * units, tries.max * units),
        expiresAt: Math.floor(Date.now() / 1_000) + goodForS,
        hmacSignatureSecret: challengeKeys[0],
        hmacKeySignatureSecret: solutionKeys[0],
      })
    },
    async take(operation, proof) {
      const { data: read } = payload.safeParse(readJson(proof))
      if (read === undefined) return 0
      const { nonce, data } = read.challenge.parameters
      if (data.operation !== operation || !(await isGood(read))) return 0
      return (await throttles.count(taken, nonce)) === 0 ? data.work : 0
    },
  }
}

function hexOf([first, ...others]: KeyList<Buffer>): KeyList<string> {
  return [first.toString('hex'), ...others.map((key) => key.toString('hex'))]
}

function readJson(proof: string): unknown {
  if (proof.length > proofLengthMax) return undefined
  try {
    return JSON.parse(Buffer.from(proof, 'base64').toString())
  } catch {
    return undefined
  }
}
