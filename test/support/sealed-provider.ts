import { randomBytes } from 'node:crypto'
import type { ProviderDocument } from '#core/catalog/catalog-document'
import { sealCredential } from '#core/catalog/credential-seal'
import { secrets } from './processes.ts'
import type { Stack } from './stack.ts'

type SealedProvider = Pick<ProviderDocument, 'baseUrl'> &
  Partial<ProviderDocument> & {
    readonly credential: string
    /** That of the credential, in lower case. */
    readonly header: string
  }

/** Creates a provider whose credential is encrypted, as that of an operator is, and returns its name. */
export function createSealedProvider(
  stack: Stack,
  { credential, header, baseUrl, ...fields }: SealedProvider,
): Promise<string> {
  const name = `sealed-${randomBytes(6).toString('hex')}`
  const boundTo = { provider: name, baseUrl, header, caCertificates: undefined }
  const sealed = sealCredential(credential, boundTo, [Buffer.from(secrets.CREDENTIALS_KEY, 'base64')])
  const auth: ProviderDocument['auth'] =
    header === 'authorization' ? { type: 'Bearer', sealed } : { type: 'Header', header, sealed }
  return stack.createProvider({ name, baseUrl, auth, ...fields })
}
