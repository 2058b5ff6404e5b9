import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** What a TLS server needs, in PEM. */
export type Certificate = { readonly cert: string; readonly key: string }

/**
 * A self-signed certificate for 127.0.0.1, and for a name if one is given, valid for a day: what a company's own provider has. Node can read
 * certificates but makes none, so this writes the few fields of X.509 (RFC 5280) that TLS needs.
 */
export function makeCertificate(name?: string): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signedPart = bodyOf(publicKey, name)
  const signature = sign('sha256', signedPart, privateKey)
  const whole = sequence(signedPart, ecdsaWithSha256, der(0x03, Buffer.of(0), signature))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const dayMs = 86_400_000
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const commonName = oid('550403')
const subjectAltName = oid('551d11')

function bodyOf(publicKey: KeyObject, dnsName?: string): Buffer {
  const serial = der(0x02, Buffer.of(1), randomBytes(8))
  const name = sequence(der(0x31, sequence(commonName, der(0x0c, Buffer.from('a test')))))
  const validity = sequence(time(Date.now() - dayMs), time(Date.now() + dayMs))
  const names = dnsName === undefined ? [] : [der(0x82, Buffer.from(dnsName))]
  const subjects = sequence(der(0x87, Buffer.of(127, 0, 0, 1)), ...names)
  const extensions = der(0xa3, sequence(sequence(subjectAltName, der(0x04, subjects))))
  const version3 = der(0xa0, der(0x02, Buffer.of(2)))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return sequence(version3, serial, ecdsaWithSha256, name, validity, name, spki, extensions)
}

function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${digits}Z`))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

/** One field: its tag, its length, what is in it. Lengths below 64 KiB. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
