import { providerDocumentSchema } from './catalog-document.ts'
import { areCertificates, areSendable } from './provider-checks.ts'
import type { ProviderDraft, SpecProblem } from './provider-resource.ts'

/**
 * Gateways skip providers that they cannot read without reporting it. So problems are reported before the
 * provider is stored.
 */
const storable = providerDocumentSchema.omit({ auth: true })
const { caCertificates: storableCertificates } = providerDocumentSchema.shape

/** Why gateways would leave a provider out, whatever its secrets are. Pure. */
export function findDocumentProblem({ document }: ProviderDraft): SpecProblem | undefined {
  const [issue] = storable.safeParse(document).error?.issues ?? []
  if (issue === undefined) return undefined
  return { path: issue.path.map(String), problem: issue.message }
}

/** Why gateways would leave a provider out because of its secrets; those that it does not have are none. Pure. */
export function findSecretProblem(
  { credential }: ProviderDraft,
  secrets: { readonly credential: string | undefined; readonly caCertificates: string | undefined },
): SpecProblem | undefined {
  const { caCertificates } = secrets
  const caPath = ['spec', 'tls', 'caSecretRef']
  if (caCertificates !== undefined && !areCertificates(caCertificates))
    return { path: caPath, problem: 'the Secret has no valid PEM certificate under the key ca.crt' }
  if (!storableCertificates.safeParse(caCertificates).success)
    return { path: caPath, problem: 'the certificates under the key ca.crt must not exceed 64 KiB' }
  if (credential === null || secrets.credential === undefined) return undefined
  if (areSendable({ [credential.header]: `${credential.prefix}${secrets.credential}` })) return undefined
  return {
    path: ['spec', 'auth', 'secretRef'],
    problem: 'the credential contains characters that an HTTP header cannot carry',
  }
}
