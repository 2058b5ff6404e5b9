import type { ClusterClient } from '../../runtime/cluster-client.ts'
import { nameOfKey } from '../../runtime/cluster-object.ts'
import { secrets } from '../../runtime/resources.ts'

/** Notices changes to Secrets that the operator may read but neither list nor watch. */
export type SecretPoll = {
  /** A provider read this version of a Secret of its namespace; `''`: it did not exist. */
  note(providerKey: string, secretName: string, resourceVersion: string): void
  /** The provider is gone, or about to report again what it reads. */
  forget(providerKey: string): void
  start(): void
  stop(): Promise<void>
}

/** Concurrent reads: a thousand providers in five seconds, with an API server that answers in 20 ms. */
const readersCount = 4

export function createSecretPoll(options: {
  readonly client: Pick<ClusterClient, 'find'>
  readonly everyMs: number
  /** The Secret is no longer the version that the provider read. */
  readonly onChange: (providerKey: string) => void
  readonly onError: (error: unknown) => void
}): SecretPoll {
  const { client, everyMs, onChange, onError } = options
  /** By provider: the versions of its Secrets by name. */
  const read = new Map<string, Map<string, string>>()
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function look(providerKey: string, secretName: string, version: string): Promise<void> {
    const { namespace } = nameOfKey(providerKey)
    const secret = await client.find(secrets, { namespace, name: secretName })
    if ((secret?.metadata.resourceVersion ?? '') !== version) onChange(providerKey)
  }

  async function lookAtAll(): Promise<void> {
    const waiting = [...read].flatMap(([key, versions]) =>
      [...versions].map((each) => [key, ...each] as const),
    )
    const worker = async () => {
      for (let next = waiting.pop(); next !== undefined && !stopping.signal.aborted; next = waiting.pop())
        await look(...next).catch(onError)
    }
    await Promise.all(Array.from({ length: readersCount }, worker))
  }

  function plan(): void {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      running = lookAtAll().then(plan)
    }, everyMs)
  }

  return {
    note(providerKey, secretName, resourceVersion) {
      const versions = read.get(providerKey) ?? new Map<string, string>()
      read.set(providerKey, versions.set(secretName, resourceVersion))
    },
    forget: (providerKey) => void read.delete(providerKey),
    start: plan,
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}
