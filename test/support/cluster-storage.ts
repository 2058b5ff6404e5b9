/** What a kube-apiserver stored in its etcd at one moment. */
export type Storage = {
  /**
   * Removes everything that was stored since, as if it had been deleted: the API server notices by its watches.
   *
   * @returns false if something else was changed or removed in the meantime: this is not undone.
   */
  restore(): Promise<boolean>
}

type Entry = { readonly key: string; readonly mod_revision: string }

const prefix = '/registry/'
const prefixEnd = '/registry0'
/** An etcd accepts 128. */
const operationsMax = 100

/** What an API server writes by itself, at any time. */
const isServersOwn = (key: string) =>
  /^\/registry\/(?:apiregistration\.k8s\.io|masterleases|ranges|services|endpointslices|ipaddresses|servicecidrs|flowschemas|prioritylevelconfigurations|priorityclasses)\/|\/kube-/.test(
    key,
  )

/** Remembers what the etcd on this port of loopback stores now. */
export async function rememberStorage(etcdPort: number): Promise<Storage> {
  const before = await readRevisions(etcdPort)
  return {
    async restore() {
      const now = await readRevisions(etcdPort)
      if ([...before].some(([key, revision]) => now.get(key) !== revision)) return false
      const added = [...now.keys()].filter((key) => !before.has(key))
      for (let index = 0; index < added.length; index += operationsMax)
        await remove(etcdPort, added.slice(index, index + operationsMax))
      return true
    },
  }
}

async function readRevisions(etcdPort: number): Promise<ReadonlyMap<string, string>> {
  const { kvs = [] } = await call<{ kvs?: readonly Entry[] }>(etcdPort, 'range', {
    key: toBase64(prefix),
    range_end: toBase64(prefixEnd),
    keys_only: true,
  })
  return new Map(
    kvs
      .map(({ key, mod_revision }) => [Buffer.from(key, 'base64').toString(), mod_revision] as const)
      .filter(([key]) => !isServersOwn(key)),
  )
}

async function remove(etcdPort: number, keys: readonly string[]): Promise<void> {
  const success = keys.map((key) => ({ request_delete_range: { key: toBase64(key) } }))
  await call(etcdPort, 'txn', { success })
}

async function call<T>(etcdPort: number, path: 'range' | 'txn', body: object): Promise<T> {
  const address = `http://127.0.0.1:${etcdPort}/v3/kv/${path}`
  const answer = await fetch(address, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64')
