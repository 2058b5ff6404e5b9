import { randomUUID } from 'node:crypto'

/** The fields of a key that a configuration sets. */
export type WantedKey = {
  readonly name: string
  readonly rpm: number | null
  readonly daily_budget_rub: string | null
  readonly allowed_models: readonly string[] | null
}

type Answer = { readonly status: number; readonly etag: string | null; readonly body: Shown }

/** Calls the management API. */
export type ManagementCall = (
  method: string,
  path: string,
  options?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Answer>

type Shown = WantedKey & {
  readonly id: string
  readonly key: Shown
  readonly secret: string | null
  readonly data: readonly Shown[]
}

type State = { readonly id: string; readonly secret: string | null }

/**
 * Manages keys as a Terraform provider does: `apply` gives an organization the keys of a configuration, and
 * remembers their ids. A key that exists under the wanted name, but not in the memory, is adopted.
 */
export function createKeyManager(call: ManagementCall) {
  const states = new Map<string, State>()

  /** The changes that `apply` makes, each as `verb resource`. */
  async function apply(wanted: Readonly<Record<string, WantedKey>>): Promise<readonly string[]> {
    const changes: string[] = []
    for (const [resource, fields] of Object.entries(wanted)) {
      const verb = await applyOne(resource, fields)
      if (verb !== undefined) changes.push(`${verb} ${resource}`)
    }
    for (const [resource, { id }] of [...states]) {
      if (resource in wanted) continue
      await call('DELETE', `/keys/${id}`)
      states.delete(resource)
      changes.push(`delete ${resource}`)
    }
    return changes
  }

  async function applyOne(resource: string, fields: WantedKey): Promise<string | undefined> {
    const known = states.get(resource)
    const found = known === undefined ? await findByName(fields.name) : await call('GET', `/keys/${known.id}`)
    if (found === undefined || found.status === 404) return create(resource, fields)
    const { id } = found.body
    if (known === undefined) states.set(resource, { id, secret: null })
    if (isSame(found.body, fields)) return undefined
    const headers = { 'if-match': String(found.etag) }
    const { status } = await call('PATCH', `/keys/${id}`, { body: fields, headers })
    if (status >= 300) throw new Error(`the change of ${resource} was answered with ${status}`)
    return 'update'
  }

  async function create(resource: string, fields: WantedKey): Promise<string> {
    const headers = { 'idempotency-key': randomUUID() }
    const { status, body } = await call('POST', '/keys', { body: fields, headers })
    if (status >= 300) throw new Error(`the creation of ${resource} was answered with ${status}`)
    states.set(resource, { id: body.key.id, secret: body.secret })
    return 'create'
  }

  async function findByName(name: string): Promise<Answer | undefined> {
    const { body } = await call('GET', `/keys?${new URLSearchParams({ q: name, limit: '200' })}`)
    const exact = body.data.find((key) => key.name === name)
    return exact && call('GET', `/keys/${exact.id}`)
  }

  return { states, apply }
}

function isSame(shown: Shown, wanted: WantedKey): boolean {
  const names = ['name', 'rpm', 'daily_budget_rub', 'allowed_models'] as const
  return names.every((name) => JSON.stringify(shown[name]) === JSON.stringify(wanted[name]))
}
