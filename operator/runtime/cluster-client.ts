import type { KubeConfig } from '@kubernetes/client-node'
import { z } from 'zod'
import { findJson } from '#core/process/json'
import {
  type ClusterObject,
  clusterObjectSchema,
  type ObjectName,
  type OwnerReference,
} from './cluster-object.ts'
import {
  type ClusterAnswer,
  type ClusterCall,
  type ClusterTransport,
  ClusterUnavailable,
  createClusterTransport,
  RefusedStream,
} from './internal/cluster-transport.ts'
import { apiVersionOf, collectionPath, objectPath, type Resource, secrets } from './resources.ts'

/** The API server rejected a request: no permission, or an invalid object. A mere retry does not help. */
export class ClusterRefused extends Error {
  readonly status: number
  /** Reasons from the server's Status: `Forbidden`, `Invalid`, …, and those of its causes. */
  readonly reasons: readonly string[]

  constructor(status: number, message: string, reasons: readonly string[]) {
    super(message)
    this.name = 'ClusterRefused'
    this.status = status
    this.reasons = reasons
  }
}

/** Who owns the fields we apply. */
const fieldManager = 'model-gateway-operator'

/** One page of a list. `continueToken` is empty on the last one. */
type Page = {
  readonly objects: readonly ClusterObject[]
  readonly resourceVersion: string
  readonly continueToken: string
}

export type WatchEvent =
  | { readonly type: 'put' | 'removed'; readonly object: ClusterObject }
  /** Nothing changed for us up to here. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string }
  /** The server no longer has this resource version: list again. */
  | { readonly type: 'expired' }

/**
 * The calls we make to the API server, each bounded in time and size.
 *
 * Expected outcomes are values. Every call throws ClusterUnavailable if the server could not be reached or answers 429 or
 * 5xx, and ClusterRefused with the server's own message if it rejects in any other way.
 */
export type ClusterClient = {
  find(resource: Resource, name: ObjectName): Promise<ClusterObject | undefined>
  /**
   * Reads a Secret without the permission to `get` it, which cannot be limited to some: with a patch that changes
   * nothing and is never stored, so that our admission policy decides. Of a Secret that it denies only the name is
   * known.
   */
  findSecret(name: ObjectName): Promise<ClusterObject | undefined>
  /**
   * The resourceVersion of a Secret that is read in that way; `''` if there is none. Its data is not sent. Made for many
   * at once, which share a connection.
   */
  findSecretVersion(name: ObjectName): Promise<string>
  /**
   * Server-side apply, with force: a full statement of our fields, so what is left out is deleted. Creates a missing
   * object, unless the body has `metadata.uid`: then 'conflict', as when another object has that name now.
   */
  apply(resource: Resource, object: AppliedObject): Promise<ClusterObject | 'conflict'>
  /**
   * Server-side apply of only `object.status`. Never creates. 'gone' also when another object has the name
   * now.
   */
  applyStatus(resource: Resource, object: ClusterObject): Promise<'applied' | 'gone'>
  /**
   * JSON merge patch of the object as it was read; a list is replaced as a whole. 'conflict': it has changed since;
   * read it again.
   */
  patch(
    resource: Resource,
    object: ClusterObject,
    change: ObjectChange,
  ): Promise<ClusterObject | 'gone' | 'conflict'>
  /** Deletes the object that was read. Does nothing if it is already deleted. */
  remove(resource: Resource, object: ClusterObject): Promise<void>
  create(resource: Resource, object: AppliedObject): Promise<ClusterObject | 'exists'>
  /** Replaces the object as it was read. */
  replace(resource: Resource, object: ClusterObject): Promise<ClusterObject | 'conflict' | 'gone'>
  /** 'expired': the list took too long and its token expired; start again. */
  list(resource: Resource, options: ListOptions): Promise<Page | 'expired'>
  /** Changes after `resourceVersion`, until the server ends the watch, which is no error. */
  watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent, void, undefined>
  close(): Promise<void>
}

/** The content of a merge patch: `null` removes. */
export type ObjectChange = {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string | null>>
    readonly annotations?: Readonly<Record<string, string | null>>
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly OwnerReference[]
  }
  readonly data?: Readonly<Record<string, string | null>>
}

/** An object to write: `apiVersion` and `kind` come from the resource. */
export type AppliedObject = Omit<ClusterObject, 'apiVersion' | 'kind'>

type ListOptions = {
  /** Empty: all. */
  readonly namespace: string
  readonly pageSize: number
  readonly continueToken: string
  readonly signal: AbortSignal
}

type WatchOptions = {
  readonly namespace: string
  readonly resourceVersion: string
  /** After how long the server is to end it. */
  readonly lengthS: number
  /** Longest silence; bookmarks come about once a minute, so a longer one means a dead connection. */
  readonly idleMs: number
  /** Called when the server has accepted the watch, which may then be quiet for minutes. */
  readonly onOpen?: () => void
  readonly signal: AbortSignal
}

/** Time for one small request: the API server's own work takes milliseconds, etcd's election seconds. */
const requestMs = 10_000
/** Time for one page of a list. */
const pageMs = 30_000

/** Opens nothing before its first call. The Lease uses a separate client. */
export function createClusterClient(
  kubeConfig: KubeConfig,
  options: {
    readonly onRequest?: (code: string, method: string) => void
    /** Default: 10 s. */
    readonly timeoutMs?: number
  } = {},
): ClusterClient {
  const { onRequest = () => undefined, timeoutMs = requestMs } = options
  const transport = createClusterTransport(kubeConfig, { onRequest })
  const shared = createClusterTransport(kubeConfig, { onRequest, connections: 'shared' })
  const sendBy =
    ({ send }: ClusterTransport): Send =>
    (call) =>
      send({ timeoutMs, ...call })
  const send = sendBy(transport)
  return {
    ...readsBy(send),
    findSecretVersion: findVersionBy(sendBy(shared)),
    ...appliesBy(send),
    ...writesBy(send),
    watch: (resource, watched) => watchBy(transport, resource, watched),
    async close() {
      await Promise.all([transport.close(), shared.close()])
    },
  }
}

/** Bounded by the client's own limit unless the call sets another. */
type Send = (call: Omit<ClusterCall, 'timeoutMs'> & { readonly timeoutMs?: number }) => Promise<ClusterAnswer>

/** Asks for metadata only. `application/json` is for servers other than the API server. */
const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

/** The resourceVersion of a Secret that may not be read: the same as long as that is so. */
const deniedVersion = 'denied'
/** Message of the policy in `operator/deploy/operator-limits.yaml` that denies the Secrets of others. */
const deniedMessage = 'the operator may use only Secrets that it created for an ApiKey'

function readsBy(send: Send): Pick<ClusterClient, 'find' | 'findSecret' | 'list'> {
  return {
    async find(resource, name) {
      const answer = await send({ method: 'GET', path: objectPath(resource, name) })
      return answer.status === 404 ? undefined : readObject(answer)
    },
    async findSecret(name) {
      const answer = await send(dryPatchOf(name))
      if (answer.status === 404) return undefined
      if (isDenied(answer))
        return { apiVersion: 'v1', kind: secrets.kind, metadata: { ...name, resourceVersion: deniedVersion } }
      return readObject(answer)
    },
    async list(resource, { namespace, pageSize, continueToken, signal }) {
      const query = { limit: String(pageSize), ...(continueToken === '' ? {} : { continue: continueToken }) }
      const path = collectionPath(resource, namespace)
      const answer = await send({ method: 'GET', path, query, timeoutMs: pageMs, signal })
      return answer.status === 410 ? 'expired' : readPage(answer, resource)
    },
  }
}

/** Of thousands of Secrets, all day long: reads no more of an answer than it needs. */
function findVersionBy(send: Send): ClusterClient['findSecretVersion'] {
  return async (name) => {
    const answer = await send({ ...dryPatchOf(name), accept: metadataOnly })
    if (answer.status === 404) return ''
    if (isDenied(answer)) return deniedVersion
    demandSuccess(answer)
    return parse(versionSchema, answer.text).metadata.resourceVersion
  }
}

function dryPatchOf(name: ObjectName): Parameters<Send>[0] {
  return {
    method: 'PATCH',
    path: objectPath(secrets, name),
    query: { dryRun: 'All', fieldManager },
    body: {},
    contentType: 'application/merge-patch+json',
  }
}

/** Another policy, or no permission, is an error. */
function isDenied({ status, text }: ClusterAnswer): boolean {
  return status === 403 && text.includes(deniedMessage)
}

async function* watchBy(
  transport: ClusterTransport,
  resource: Resource,
  { namespace, resourceVersion, lengthS, idleMs, onOpen, signal }: WatchOptions,
): AsyncGenerator<WatchEvent, void, undefined> {
  const query = {
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion,
    timeoutSeconds: String(lengthS),
  }
  const path = collectionPath(resource, namespace)
  const lines = transport.lines({ method: 'GET', path, query, timeoutMs: requestMs, idleMs, onOpen, signal })
  try {
    for await (const line of lines) yield readWatchEvent(line)
  } catch (error) {
    if (!(error instanceof RefusedStream)) throw error
    if (error.answer.status !== 410) throw refusalOf(error.answer)
    yield { type: 'expired' }
  }
}

function appliesBy(send: Send): Pick<ClusterClient, 'apply' | 'applyStatus'> {
  const applyTo = (path: string, body: object) =>
    send({
      method: 'PATCH',
      path,
      body,
      query: { fieldManager, force: 'true' },
      contentType: 'application/apply-patch+yaml', // JSON is YAML
    })
  return {
    async apply(resource, object) {
      const answer = await applyTo(objectPath(resource, object.metadata), withKind(resource, object))
      return isAnotherObject(answer) ? 'conflict' : readObject(answer)
    },
    async applyStatus(resource, { metadata, status }) {
      const { name, namespace, uid } = metadata
      const body = withKind(resource, { metadata: { name, namespace, uid }, status })
      const answer = await applyTo(`${objectPath(resource, metadata)}/status`, body)
      if (answer.status === 404 || isAnotherObject(answer)) return 'gone'
      demandSuccess(answer)
      return 'applied'
    },
  }
}

function writesBy(send: Send): Pick<ClusterClient, 'create' | 'replace' | 'patch' | 'remove'> {
  const query = { fieldManager }
  return {
    async create(resource, object) {
      const path = collectionPath(resource, object.metadata.namespace ?? '')
      const answer = await send({ method: 'POST', path, query, body: withKind(resource, object) })
      return answer.status === 409 ? 'exists' : readObject(answer)
    },
    async replace(resource, object) {
      const path = objectPath(resource, object.metadata)
      const answer = await send({ method: 'PUT', path, query, body: object })
      if (answer.status === 404) return 'gone'
      return answer.status === 409 ? 'conflict' : readObject(answer)
    },
    async patch(resource, { metadata }, change) {
      const { uid, resourceVersion } = metadata
      const answer = await send({
        method: 'PATCH',
        path: objectPath(resource, metadata),
        query,
        body: { ...change, metadata: { ...change.metadata, uid, resourceVersion } },
        contentType: 'application/merge-patch+json',
      })
      if (answer.status === 404) return 'gone'
      return isAnotherObject(answer) ? 'conflict' : readObject(answer)
    },
    async remove(resource, { metadata }) {
      const answer = await send({
        method: 'DELETE',
        path: objectPath(resource, metadata),
        body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: metadata.uid } },
      })
      if (answer.status !== 404 && answer.status !== 409) demandSuccess(answer)
    },
  }
}

function withKind(resource: Resource, object: object): object {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }
}

const text = z.string().optional()
const causeSchema = z.object({ reason: text, field: text })
const statusSchema = z.object({
  code: z.number().optional(),
  message: text,
  reason: text,
  details: z.object({ causes: z.array(causeSchema).optional() }).optional(),
})

/** The body had a `uid`: 409 when no object has its name now (or it changed), 422 when another one has it. */
function isAnotherObject({ status, text }: ClusterAnswer): boolean {
  if (status !== 422) return status === 409
  const causes = statusSchema.safeParse(findJson(text)).data?.details?.causes ?? []
  return causes.some(({ field }) => field === 'metadata.uid')
}

function demandSuccess(answer: ClusterAnswer): void {
  if (answer.status >= 300) throw refusalOf(answer)
}

function refusalOf({ status, text }: ClusterAnswer): ClusterRefused | ClusterUnavailable {
  const { data } = statusSchema.safeParse(findJson(text))
  const message = data?.message ?? `The API server answered ${status}.`
  // 401: until the token is rotated; 408 and 429: until it has time.
  if (status >= 500 || [401, 408, 429].includes(status)) return new ClusterUnavailable(message)
  const causes = data?.details?.causes ?? []
  return new ClusterRefused(
    status,
    message,
    [data?.reason, ...causes.map(({ reason }) => reason)].filter((reason) => reason !== undefined),
  )
}

function readObject(answer: ClusterAnswer): ClusterObject {
  demandSuccess(answer)
  return parse(clusterObjectSchema, answer.text)
}

const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) })
const pageSchema = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.looseObject({})),
})

function readPage(answer: ClusterAnswer, resource: Resource): Page {
  demandSuccess(answer)
  const { metadata, items } = parse(pageSchema, answer.text)
  return {
    // Items in a list of a built-in kind have no apiVersion and kind.
    objects: items.map((item) => clusterObjectSchema.parse(withKind(resource, item))),
    resourceVersion: metadata.resourceVersion,
    continueToken: metadata.continue ?? '',
  }
}

const watchLineSchema = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), object: clusterObjectSchema }),
  z.object({
    type: z.literal('BOOKMARK'),
    object: z.object({ metadata: z.object({ resourceVersion: z.string() }) }),
  }),
  z.object({ type: z.literal('ERROR'), object: statusSchema }),
])

function readWatchEvent(line: string): WatchEvent {
  const event = parse(watchLineSchema, line)
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'put', object: event.object }
    case 'DELETED':
      return { type: 'removed', object: event.object }
    case 'BOOKMARK':
      return { type: 'bookmark', resourceVersion: event.object.metadata.resourceVersion }
    case 'ERROR':
      if (event.object.code === 410) return { type: 'expired' }
      throw new ClusterUnavailable(event.object.message ?? 'The watch ended with an error.')
  }
}

/** @throws ClusterUnavailable: the response did not come from an API server, but perhaps from a proxy in front of it. */
function parse<T>(schema: z.ZodType<T>, text: string): T {
  const parsed = schema.safeParse(findJson(text))
  if (parsed.success) return parsed.data
  throw new ClusterUnavailable('The API server sent a response that is not a Kubernetes object.', {
    cause: parsed.error,
  })
}
