import type { ScopedClient } from '#core/audit/scope'
import type { AddressGuard } from '#core/catalog/address-guard'
import { findAddressProblem } from '#core/catalog/address-problem'
import type { ProviderDocument } from '#core/catalog/catalog-document'
import { putProvider } from '#core/catalog/catalog-store'
import { areCertificates } from '#core/catalog/provider-checks'
import { findDocumentProblem, findSecretProblem } from '#core/catalog/provider-problems'
import {
  draftSecretlessProvider,
  keepCredential,
  type ProviderDraft,
  sealProvider,
} from '#core/catalog/provider-resource'
import type { KeyList } from '#core/process/key-list'
import { notFound, type Problem } from '../../api/problem.ts'
import type { WrittenProvider } from '../provider-administration-contracts.ts'
import {
  type AdministeredProvider,
  findAdministeredProvider,
  versionOfProvider,
} from './administered-providers.ts'
import { holdCatalog } from './catalog-lock.ts'
import { managedByCluster } from './change-model.ts'
import { type Refused, ruleBroken } from './refusals.ts'

export type ProviderDeps = {
  /** 32 bytes each: the first encrypts credentials. */
  readonly credentialKeys: KeyList<Uint8Array>
  /** Where providers may be. */
  readonly guard: AddressGuard
}

type Refusal = { readonly refused: readonly Refused[] } | { readonly problem: Problem }

/** Makes a provider. Writes nothing if it returns a rejection. */
export async function createProvider(
  client: ScopedClient,
  deps: ProviderDeps,
  name: string,
  written: WrittenProvider,
): Promise<AdministeredProvider | Refusal> {
  await holdCatalog(client)
  if ((await findAdministeredProvider(client, name)) !== undefined)
    return refuse('name', 'taken', 'there is already a provider of this name', 'такой провайдер уже есть')
  return write(client, deps, name, written, undefined)
}

/** Replaces a provider, if it still has this version. */
export async function updateProvider(
  client: ScopedClient,
  deps: ProviderDeps,
  { name, version }: { readonly name: string; readonly version: string },
  written: WrittenProvider,
): Promise<AdministeredProvider | Refusal> {
  await holdCatalog(client)
  const before = await findAdministeredProvider(client, name)
  if (before === undefined) return notFound
  if (before.owner !== null) return managedByCluster(before.owner)
  if (versionOfProvider(before) !== version) return { problem: { code: 'precondition_failed' } }
  return write(client, deps, name, written, before.document)
}

async function write(
  client: ScopedClient,
  deps: ProviderDeps,
  name: string,
  written: WrittenProvider,
  before: ProviderDocument | undefined,
): Promise<AdministeredProvider | Refusal> {
  const { compatibility_profile, spec, credential } = written
  const drafted = draftSecretlessProvider(name, compatibility_profile, spec)
  if ('problem' in drafted) return { refused: [ruleBroken(fieldOf(drafted.path), drafted.problem)] }
  const { draft } = drafted
  const given = written.ca_certificates
  const caCertificates = given === undefined ? before?.caCertificates : (given ?? undefined)
  const secrets = { credential, caCertificates }
  const wrong = findDocumentProblem(draft) ?? findAddressProblem(draft.document, deps.guard)
  if (wrong !== undefined) return { refused: [ruleBroken(fieldOf(wrong.path), wrong.problem)] }
  const refused = wrongSecrets(draft, secrets)
  if (refused !== undefined) return refused
  const document =
    credential === undefined
      ? keepCredential(draft, caCertificates, before)
      : sealProvider(draft, secrets, deps.credentialKeys, before)
  if (document === undefined) return missingCredential(before)
  await putProvider(client, document)
  const made = await findAdministeredProvider(client, name)
  if (made === undefined) throw new Error(`provider ${name} was not written`)
  return made
}

/** The field of the request that a field of the resource or document is in. */
function fieldOf(path: readonly string[]): string {
  if (path[0] === 'metadata') return 'compatibility_profile'
  return path[0] === 'spec' ? path.join('.') : `spec.${path.join('.')}`
}

function wrongSecrets(
  draft: ProviderDraft,
  secrets: { readonly credential: string | undefined; readonly caCertificates: string | undefined },
): Refusal | undefined {
  const { credential, caCertificates } = secrets
  if (caCertificates !== undefined && !areCertificates(caCertificates))
    return refuse(
      'ca_certificates',
      'not_pem',
      'must be certificates in PEM, each complete and readable',
      'нужны сертификаты в формате PEM, целые и читаемые',
    )
  if (draft.credential === null && credential !== undefined)
    return refuse(
      'credential',
      'unused',
      'must be empty for spec.auth.type None, which sends no credential',
      'не нужны: при spec.auth.type None ничего не отправляется',
    )
  const problem = findSecretProblem(draft, secrets)
  if (problem === undefined) return undefined
  const field = problem.path.includes('caSecretRef') ? 'ca_certificates' : 'credential'
  return { refused: [ruleBroken(field, problem.problem)] }
}

function missingCredential(before: ProviderDocument | undefined): Refusal {
  return before === undefined || before.auth.type === 'None'
    ? refuse(
        'credential',
        'required',
        'is required for this spec.auth.type',
        'нужны при таком spec.auth.type',
      )
    : refuse(
        'credential',
        'required',
        'enter it again: the stored one may only be sent to the former address, in the former header',
        'введите снова: сохранённые отправляются только на прежний адрес и в прежнем заголовке',
      )
}

function refuse(path: string, code: string, en: string, ru: string): Refusal {
  return { refused: [{ path, code, en, ru }] }
}
