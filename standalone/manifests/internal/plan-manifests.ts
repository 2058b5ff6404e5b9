import { basename } from 'node:path'
import { createAddressGuard } from '#core/catalog/address-guard'
import { findAddressProblem } from '#core/catalog/address-problem'
import { findFallbackCircles } from '#core/catalog/fallback-circle'
import { findDocumentProblem, findSecretProblem } from '#core/catalog/provider-problems'
import { draftProvider, type ProviderDraft } from '#core/catalog/provider-resource'
import { draftRoute, type RouteDraft } from '#core/catalog/route-resource'
import { draftKey, type KeyDraft } from '#core/keys/key-resource'
import type { ApiKey } from '#crds/api-key'
import type { ModelProvider } from '#crds/model-provider'
import type { ModelRoute } from '#crds/model-route'
import { upstreamAllowedCidrs } from '../allowed-cidrs.ts'
import { findMissing, type Missing, spoiltBy } from './missing.ts'
import type { Owned } from './owned.ts'
import { lineOfField, type Resource, subjectOf } from './read-document.ts'
import type { Folder, Manifest, Position, Problem } from './read-folder.ts'
import { findSecretValue, type Secret, variableOf } from './secret.ts'

/** Routes of one folder. More would make each catalog change slow. */
const routesMax = 10_000
/** Problems that get a line number. Each takes a millisecond, and users do not read more. */
const problemsWithLineMax = 200
/** Models of a cycle that are printed. */
const shownCircleMax = 8
/** Name of the provider, key and model prefix that the system creates itself. */
const demoName = 'demo'
/** The same guard as the gateway's. */
const guard = createAddressGuard(upstreamAllowedCidrs)

export type DesiredProvider = {
  readonly position: Position
  readonly draft: ProviderDraft
  readonly credential: string | undefined
  readonly caCertificates: string | undefined
}
export type DesiredRoute = RouteDraft & { readonly position: Position; readonly name: string }
export type DesiredKey = KeyDraft & { readonly position: Position }

/** Objects to create, change or remove, and problems. Everything else stays as it is. */
export type Plan = {
  readonly providers: readonly DesiredProvider[]
  readonly routes: readonly DesiredRoute[]
  readonly keys: readonly DesiredKey[]
  readonly removed: Missing['removed']
  /** For display: objects that may belong to an invalid document. */
  readonly kept: Missing['kept']
  readonly problems: readonly Problem[]
  /** Applied despite the warning. */
  readonly warnings: readonly Problem[]
}

type Noted = { readonly problems: Problem[]; readonly warnings: Problem[] }

/**
 * The plan for a folder. Pure.
 *
 * Objects of a document that became invalid stay; see `missing.ts`.
 *
 * @param owned the applied objects. An object may be used while its document is invalid, and takes precedence over a
 * new one.
 * @param environment replaces Secrets missing from the folder.
 */
export function planManifests(
  folder: Folder,
  owned: Owned,
  environment: Readonly<Record<string, string | undefined>>,
): Plan {
  const noted: Noted = { problems: [...folder.problems], warnings: [] }
  const providers = planProviders(folder, owned, environment, noted)
  const isSpoilt = spoiltBy(noted.problems)
  const usable = new Set([
    demoName,
    ...providers.map(({ draft }) => draft.document.name),
    ...Object.entries(owned.providers).flatMap(([name, { file }]) =>
      isSpoilt(file, [subjectOf('ModelProvider', name)]) ? [name] : [],
    ),
  ])
  const routes = planRoutes(folder, owned, usable, noted)
  const keys = planKeys(folder, owned, noted)
  const desired = {
    providers: new Set(providers.map(({ draft }) => draft.document.name)),
    models: new Set(routes.map(({ route }) => route.model)),
    keys: new Set(keys.map(({ name }) => name)),
  }
  return { providers, routes, keys, ...findMissing(folder.path, owned, desired, noted.problems), ...noted }
}

function planProviders(
  folder: Folder,
  owned: Owned,
  environment: Readonly<Record<string, string | undefined>>,
  noted: Noted,
): readonly DesiredProvider[] {
  const find = secretFinder(folder, environment, noted)
  return onlyOnce(
    manifestsOf<ModelProvider>(folder, 'ModelProvider'),
    ({ metadata }) => metadata.name,
    (name) => owned.providers[name]?.file,
    noted,
  ).flatMap((manifest): DesiredProvider[] => {
    if (manifest.resource.metadata.name === demoName)
      return refuse(noted, manifest, ['metadata', 'name'], reserved)
    const drafted = draftProvider(manifest.resource)
    if ('problem' in drafted) return refuse(noted, manifest, drafted.path, drafted.problem)
    const { draft } = drafted
    const unusable = findDocumentProblem(draft) ?? findAddressProblem(draft.document, guard)
    if (unusable !== undefined) return refuse(noted, manifest, unusable.path, unusable.problem)
    const credential = draft.credential === null ? undefined : find(draft.credential.secretRef)
    if (draft.credential !== null && credential === undefined)
      return refuse(noted, manifest, ['spec', 'auth', 'secretRef'], missing(draft.credential.secretRef))
    const caCertificates = draft.caSecretRef === null ? undefined : find(draft.caSecretRef)
    if (draft.caSecretRef !== null && caCertificates === undefined)
      return refuse(noted, manifest, ['spec', 'tls', 'caSecretRef'], missing(draft.caSecretRef))
    const unsendable = findSecretProblem(draft, { credential, caCertificates })
    if (unsendable !== undefined) return refuse(noted, manifest, unsendable.path, unsendable.problem)
    return [{ position: manifest.position, draft, credential, caCertificates }]
  })
}

/** The trimmed value of a reference, from a Secret or else from the environment. */
function secretFinder(
  folder: Folder,
  environment: Readonly<Record<string, string | undefined>>,
  noted: Noted,
): (ref: { readonly name: string; readonly key: string }) => string | undefined {
  const once = onlyOnce(
    manifestsOf<Secret>(folder, 'Secret'),
    ({ metadata }) => metadata.name,
    () => undefined,
    noted,
  )
  const secrets = new Map(once.map(({ resource }) => [resource.metadata.name, resource]))
  return ({ name, key }) => {
    const secret = secrets.get(name)
    const values = [
      secret === undefined ? undefined : findSecretValue(secret, key),
      environment[variableOf(name, key)],
    ]
    // An empty value was left to be filled in.
    return values.map((value) => value?.trim()).find((value) => value !== undefined && value !== '')
  }
}

const reserved = `"${demoName}" is reserved for the demo provider and its models; choose another name`

function missing({ name, key }: { readonly name: string; readonly key: string }): string {
  return `no Secret "${name}" with the key "${key}"; add it to this folder, or set ${variableOf(name, key)} in the environment`
}

function planRoutes(
  folder: Folder,
  owned: Owned,
  usableProviders: ReadonlySet<string>,
  noted: Noted,
): readonly DesiredRoute[] {
  const named = onlyOnce(
    manifestsOf<ModelRoute>(folder, 'ModelRoute'),
    ({ metadata }) => metadata.name,
    () => undefined,
    noted,
  )
  const once = onlyOnce(
    named,
    ({ spec }) => spec.model,
    (model) => owned.routes[model]?.file,
    noted,
    ['spec', 'model'],
  )
  const routes = once.flatMap((manifest, index): DesiredRoute[] => {
    const { spec } = manifest.resource
    if (index >= routesMax) return refuse(noted, manifest, [], `exceeds the limit of ${routesMax} routes`)
    if (spec.model.startsWith(`${demoName}/`)) return refuse(noted, manifest, ['spec', 'model'], reserved)
    const absent = spec.backends.flatMap(({ providerRef }, backend) =>
      usableProviders.has(providerRef.name) ? [] : [{ backend, name: providerRef.name }],
    )
    // A backend of weight 0 is never tried.
    const canServe = spec.backends.some(
      ({ providerRef, weight }) => weight > 0 && usableProviders.has(providerRef.name),
    )
    for (const { backend, name } of absent) {
      const list = canServe ? noted.warnings : noted.problems
      const reason = `ModelProvider "${name}" does not exist or has a problem`
      note(list, manifest, ['spec', 'backends', backend, 'providerRef'], reason)
    }
    if (!canServe) return []
    const { name } = manifest.resource.metadata
    return [{ ...draftRoute(manifest.resource), position: manifest.position, name }]
  })
  warnOfFallbacks(
    once,
    new Set([...routes.map(({ route }) => route.model), ...Object.keys(owned.routes)]),
    noted,
  )
  return routes
}

function warnOfFallbacks(
  manifests: readonly Manifest<ModelRoute>[],
  models: ReadonlySet<string>,
  noted: Noted,
): void {
  const byModel = new Map(manifests.map((manifest) => [manifest.resource.spec.model, manifest]))
  for (const manifest of manifests)
    for (const [index, fallback] of manifest.resource.spec.fallbacks.entries())
      if (!models.has(fallback) && !fallback.startsWith(`${demoName}/`)) {
        const reason = `no route serves the fallback ${fallback}; the gateway skips it`
        note(noted.warnings, manifest, ['spec', 'fallbacks', index], reason)
      }
  const fallbacks = new Map([...byModel].map(([model, { resource }]) => [model, resource.spec.fallbacks]))
  for (const circle of findFallbackCircles(fallbacks)) {
    const manifest = byModel.get(circle[0] ?? '')
    const isLong = circle.length > shownCircleMax + 1
    const shown = isLong ? [...circle.slice(0, shownCircleMax), '…', ...circle.slice(-1)] : circle
    const round = shown.join(' → ')
    const reason = `fallbacks form a loop: ${round}. This is harmless: the fallbacks of a fallback are not tried`
    if (manifest !== undefined) note(noted.warnings, manifest, ['spec', 'fallbacks'], reason)
  }
}

function planKeys(folder: Folder, owned: Owned, noted: Noted): readonly DesiredKey[] {
  return onlyOnce(
    manifestsOf<ApiKey>(folder, 'ApiKey'),
    ({ metadata }) => metadata.name,
    (name) => owned.keys[name]?.file,
    noted,
  ).flatMap((manifest): DesiredKey[] => {
    const { metadata, spec } = manifest.resource
    if (metadata.name === demoName) return refuse(noted, manifest, ['metadata', 'name'], reserved)
    const before = owned.keys[metadata.name]?.organization ?? spec.organization
    if (before !== spec.organization)
      return refuse(
        noted,
        manifest,
        ['spec', 'organization'],
        `cannot be changed from "${before}"; create another key`,
      )
    if (spec.rotation?.interval !== undefined)
      return refuse(
        noted,
        manifest,
        ['spec', 'rotation', 'interval'],
        'works only in a cluster: change trigger instead',
      )
    return [{ ...draftKey(manifest.resource), position: manifest.position }]
  })
}

function manifestsOf<Kind extends Resource>(folder: Folder, kind: Kind['kind']): readonly Manifest<Kind>[] {
  return folder.manifests.filter((manifest): manifest is Manifest<Kind> => manifest.resource.kind === kind)
}

/** One manifest per key: the applied one, otherwise the first. The others get a problem with the line of the first. */
function onlyOnce<Kind extends Resource>(
  manifests: readonly Manifest<Kind>[],
  keyOf: (resource: Kind) => string,
  findOwnedFile: (key: string) => string | undefined,
  noted: Noted,
  path: readonly PropertyKey[] = ['metadata', 'name'],
): readonly Manifest<Kind>[] {
  const groups = Map.groupBy(manifests, ({ resource }) => keyOf(resource))
  return [...groups].flatMap(([key, group]) => {
    const ownedFile = findOwnedFile(key)
    const chosen = group.find(({ position }) => position.file === ownedFile) ?? group[0]
    if (chosen === undefined) return []
    const { file, line } = chosen.position
    for (const other of group)
      if (other !== chosen)
        note(
          noted.problems,
          other,
          path,
          `${key} is already defined at ${basename(file)}:${line}; all namespaces share one set of names here`,
        )
    return [chosen]
  })
}

function refuse(noted: Noted, manifest: Manifest, path: readonly PropertyKey[], reason: string): never[] {
  note(noted.problems, manifest, path, reason)
  return []
}

function note(list: Problem[], manifest: Manifest, path: readonly PropertyKey[], reason: string): void {
  const { resource, position, text } = manifest
  const hasOwnLine = path.length > 0 && list.length < problemsWithLineMax
  // The document's own line is that of its first field.
  const line = hasOwnLine ? position.line - lineOfField(text, []) + lineOfField(text, path) : position.line
  const field = path.map(String).join('.')
  list.push({
    position: { file: position.file, line },
    what: `${resource.kind} "${resource.metadata.name}"`,
    reason: field === '' ? reason : `${field}: ${reason}`,
    about: [
      subjectOf(resource.kind, resource.metadata.name),
      ...(resource.kind === 'ModelRoute' ? [subjectOf(resource.kind, resource.spec.model)] : []),
    ],
  })
}
