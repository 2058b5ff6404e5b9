import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/** OWASP's minimum for argon2id (Password Storage Cheat Sheet): 19 MiB, two passes, one lane. */
const parameters = { memory: 19 * 1024, passes: 2, parallelism: 1 } as const
const tagLength = 32
const nonceLength = 16

/**
 * Each hash takes 19 MiB and one of libuv's four threads. The fourth is left for challenges, which must not wait
 * behind hashes.
 */
const runningMax = 3

/** Callers that wait for a hash, by priority. Strangers without a proof come last. */
const lanes = ['known', 'proven', 'open'] as const
export type Lane = (typeof lanes)[number]

/** Queue length per lane. Shorter for strangers without a proof: proving is faster than waiting. */
const waitingMax: Readonly<Record<Lane, number>> = { known: 32, proven: 32, open: 16 }

/** Too many passwords are being hashed. Nothing was done. */
type Busy = 'busy'

/** Stored if there is no password. No password matches it. */
export const noPassword = '!'

/** Hashes passwords, only a few at a time: argon2 is expensive in memory, so the number must be bounded. */
export type Passwords = {
  /** Returns a PHC string. */
  hash(password: string, lane: Lane): Promise<string | Busy>
  /**
   * Whether a password matches the hash. `undefined` or an invalid hash never matches, after the same work.
   * `isOutdated`: hashed with old parameters, so hash it again.
   */
  check(password: string, hash: string | undefined, lane: Lane): Promise<Checked | Busy>
}

type Checked = { readonly fits: boolean; readonly isOutdated: boolean }

type Cost = { readonly memory: number; readonly passes: number; readonly parallelism: number }

type Phc = Cost & { readonly nonce: Buffer; readonly tag: Buffer }

export function createPasswords(): Passwords {
  const gate = createGate(runningMax)
  /** Compared if there is no other hash, so that known and unknown addresses cost the same. */
  const nobodys: Phc = { ...parameters, nonce: randomBytes(nonceLength), tag: randomBytes(tagLength) }
  return {
    hash: (password, lane) =>
      gate(lane, async () => {
        const nonce = randomBytes(nonceLength)
        return writePhc({
          ...parameters,
          nonce,
          tag: await tagOf(password, { ...parameters, nonce }, tagLength),
        })
      }),
    check: (password, hash, lane) =>
      gate(lane, async () => {
        const known = hash === undefined ? undefined : parsePhc(hash)
        const phc = known ?? nobodys
        const isSame = timingSafeEqual(await tagOf(password, phc, phc.tag.length), phc.tag)
        return { fits: isSame && known !== undefined, isOutdated: !isOfToday(phc) }
      }),
  }
}

const run = promisify(argon2)

/**
 * The same text typed on another keyboard may have other code points. NFKC normalizes them (NIST SP 800-63B, 3.1.1.2).
 */
export function plainPassword(password: string): string {
  return password.normalize('NFKC')
}

function tagOf(password: string, { nonce, ...cost }: Cost & { readonly nonce: Buffer }, length: number) {
  const { memory, passes, parallelism } = cost
  const message = Buffer.from(plainPassword(password))
  return run('argon2id', { message, nonce, memory, passes, parallelism, tagLength: length })
}

function isOfToday({ memory, passes, parallelism, tag }: Phc): boolean {
  return (
    memory === parameters.memory &&
    passes === parameters.passes &&
    parallelism === parameters.parallelism &&
    tag.length === tagLength
  )
}

const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/

function parsePhc(text: string): Phc | undefined {
  const [, memory, passes, parallelism, nonce, tag] = phcPattern.exec(text) ?? []
  if (nonce === undefined || tag === undefined) return undefined
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

function writePhc({ memory, passes, parallelism, nonce, tag }: Phc): string {
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''))
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${salt}$${hash}`
}

/** Runs a bounded number at once and queues a bounded number per lane. Rejects the rest. */
function createGate(runningCountMax: number) {
  let runningCount = 0
  const waiting: Readonly<Record<Lane, (() => void)[]>> = {
    known: [],
    proven: [],
    open: [],
  }
  const nextOf = () =>
    lanes
      .map((lane) => waiting[lane])
      .find(({ length }) => length > 0)
      ?.shift()
  return async function pass<Answer>(lane: Lane, work: () => Promise<Answer>): Promise<Answer | Busy> {
    if (runningCount < runningCountMax) runningCount++
    else if (waiting[lane].length < waitingMax[lane])
      await new Promise<void>((resolve) => waiting[lane].push(resolve))
    else return 'busy'
    try {
      return await work()
    } finally {
      // The next waiting caller takes over this place, so the count stays.
      const next = nextOf()
      if (next === undefined) runningCount--
      else next()
    }
  }
}
