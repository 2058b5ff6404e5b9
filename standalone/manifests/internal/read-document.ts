import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { type ApiKey, apiKeySchema } from '#crds/api-key'
import { type ModelProvider, modelProviderSchema } from '#crds/model-provider'
import { type ModelRoute, modelRouteSchema } from '#crds/model-route'
import { apiVersion, group, resourceName } from '#crds/resource'
import { type Secret, secretSchema } from './secret.ts'

export type Resource = ApiKey | ModelProvider | ModelRoute | Secret

/**
 * The possible subjects of an invalid document: kind and name, and for a route also kind and model. `null`: anything.
 * These objects must not be treated as removed.
 */
export type Subjects = readonly string[] | null

/** Kinds that are stored and may be removed. */
const ownKinds = ['ApiKey', 'ModelProvider', 'ModelRoute'] as const
export type OwnKind = (typeof ownKinds)[number]

/** In the format of `Subjects`. */
export function subjectOf(kind: Resource['kind'], name: string): string {
  return `${kind} ${name}`
}

/** One document of a file by itself. Lines count from its first line, which is 1. */
export type Reading =
  | { readonly kind: 'resource'; readonly resource: Resource; readonly line: number }
  | {
      readonly kind: 'problem'
      readonly line: number
      /** `ModelRoute "gpt"`, as far as known. */
      readonly what: string
      readonly reason: string
      readonly about: Subjects
    }
  /** Only comments, or empty. */
  | { readonly kind: 'empty' }

const schemas = {
  [`${apiVersion} ApiKey`]: apiKeySchema,
  [`${apiVersion} ModelProvider`]: modelProviderSchema,
  [`${apiVersion} ModelRoute`]: modelRouteSchema,
  'v1 Secret': secretSchema,
}

/** Parses one document, or returns its problem. Pure; about 1 ms for a route. */
export function readDocument(text: string): Reading {
  const counter = new LineCounter()
  const document = parseDocument(text, { lineCounter: counter, stringKeys: true, prettyErrors: false })
  const lineAt = (offset: number) => Math.max(counter.linePos(offset).line, 1)
  const [error] = document.errors
  if (error !== undefined)
    return {
      kind: 'problem',
      line: lineAt(error.pos[0]),
      what: 'the document',
      reason: error.message,
      about: null,
    }
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) return { kind: 'empty' }
  const lineOf = (path: readonly PropertyKey[]) => lineAt(offsetOf(root, path))
  try {
    return check(document.toJS(), text, lineOf)
  } catch (failure) {
    // More aliases than any valid document needs: an alias bomb.
    const reason = failure instanceof Error ? failure.message : String(failure)
    return { kind: 'problem', line: lineOf([]), what: 'the document', reason, about: null }
  }
}

/** The line of a field in a document, or of the deepest existing part of its path. */
export function lineOfField(text: string, path: readonly PropertyKey[]): number {
  const counter = new LineCounter()
  const { contents } = parseDocument(text, { lineCounter: counter, prettyErrors: false })
  return contents === null ? 1 : Math.max(counter.linePos(offsetOf(contents, path)).line, 1)
}

/**
 * The documents of a file, with the number of lines before each. In YAML, a `---` at the start of a line begins the
 * next document.
 */
export function splitDocuments(
  text: string,
): readonly { readonly text: string; readonly linesBefore: number }[] {
  const lines = text.split('\n')
  const starts = [0, ...lines.flatMap((line, index) => (/^---(\s|$)/.test(line) && index > 0 ? [index] : []))]
  return starts.map((start, index) => ({
    text: lines.slice(start, starts[index + 1]).join('\n'),
    linesBefore: start,
  }))
}

function check(json: unknown, text: string, lineOf: (path: readonly PropertyKey[]) => number): Reading {
  const { kind, apiVersion: version, metadata, spec } = fieldsOf(json)
  const { name } = fieldsOf(metadata)
  const named = typeof name === 'string' ? ` "${name}"` : ''
  const what = typeof kind === 'string' ? `${kind}${named}` : 'the document'
  const about = findSubjects(text, kind, name, fieldsOf(spec).model)
  const schema = Object.entries(schemas).find(([known]) => known === `${version} ${kind}`)?.[1]
  if (schema === undefined)
    return {
      kind: 'problem',
      line: lineOf([]),
      what,
      reason: `is not one of the supported kinds: ${Object.keys(schemas).join(', ')}`,
      about,
    }
  const parsed = schema.safeParse(json)
  if (parsed.success) return { kind: 'resource', resource: parsed.data, line: lineOf([]) }
  const [issue] = parsed.error.issues
  const path = issue?.path ?? []
  const unknownKey = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  return {
    kind: 'problem',
    line: lineOf([...path, ...unknownKey]),
    what,
    reason: [path.map(String).join('.'), issue?.message ?? 'is not valid'].filter(Boolean).join(': '),
    about,
  }
}

/** An unknown kind may be a misspelled kind, or a list of our kinds, if the text mentions our API group. */
function findSubjects(text: string, kind: unknown, name: unknown, model: unknown): Subjects {
  const known = ownKinds.filter((own) => own === kind)
  const isForeign = known.length === 0 && (kind === 'Secret' || !text.includes(group))
  if (isForeign) return []
  const named = resourceName.safeParse(name)
  if (!named.success) return null
  const names = typeof model === 'string' ? [named.data, model] : [named.data]
  return (known.length === 0 ? ownKinds : known).flatMap((own) => names.map((one) => subjectOf(own, one)))
}

/** A field's offset is that of its name, and an item's offset is where it begins. */
function offsetOf(root: Node, path: readonly PropertyKey[]): number {
  let node: unknown = root
  let offset = root.range?.[0] ?? 0
  for (const part of path) {
    let start: unknown
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === part)
      start = pair?.key
      node = pair?.value
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(part)]
      start = isPair(item) ? item.key : item
      node = item
    }
    if (!isNode(start)) break
    offset = start.range?.[0] ?? offset
  }
  return offset
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
