import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** Bits of a device's flags: its user is present, was verified, and the key is new. */
const flags = { present: 0x01, verified: 0x04, created: 0x40 }

type Wish = {
  readonly origin: string
  readonly challenge: string
  /** The site as the browser understood it: a host. */
  readonly site: string
  readonly isVerified?: boolean
}

/**
 * A device with one passkey (WebAuthn level 3, ES256, no attestation), as a browser sends it. Its counter stays 0, as that
 * of synchronized passkeys, unless it counts.
 */
export function passkeyDevice({ isCounting = false } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const credentialId = randomBytes(32)
  let counter = 0
  let userHandle = ''

  const dataOf = ({ site, isVerified = true }: Wish, extraFlags: number, rest: Uint8Array) => {
    if (isCounting) counter += 1
    const counted = Buffer.alloc(4)
    counted.writeUInt32BE(counter)
    const bits = flags.present | (isVerified ? flags.verified : 0) | extraFlags
    return Buffer.concat([sha256(site), Buffer.from([bits]), counted, rest])
  }

  return {
    /** `navigator.credentials.create`. */
    create(wish: Wish & { readonly user: string }) {
      userHandle = wish.user
      const idLength = Buffer.from([0, credentialId.length])
      const attested = Buffer.concat([Buffer.alloc(16), idLength, credentialId, coseKey(x, y)])
      const authData = dataOf(wish, flags.created, attested)
      const attestationObject = Buffer.concat([
        Buffer.from([0xa3]),
        ...[cborText('fmt'), cborText('none'), cborText('attStmt'), Buffer.from([0xa0])],
        ...[cborText('authData'), cborBytes(authData)],
      ])
      return {
        ...named(credentialId),
        response: {
          clientDataJSON: clientData('webauthn.create', wish).toString('base64url'),
          attestationObject: attestationObject.toString('base64url'),
        },
      }
    },
    /** `navigator.credentials.get`. */
    sign(wish: Wish) {
      const authenticatorData = dataOf(wish, 0, Buffer.alloc(0))
      const client = clientData('webauthn.get', wish)
      const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(client)]), privateKey)
      return {
        ...named(credentialId),
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: authenticatorData.toString('base64url'),
          signature: signature.toString('base64url'),
          userHandle,
        },
      }
    },
  }
}

function named(credentialId: Buffer) {
  const id = credentialId.toString('base64url')
  return { id, rawId: id, type: 'public-key' as const, authenticatorAttachment: 'platform' }
}

function clientData(type: string, { challenge, origin }: Wish): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}

/** {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} */
function coseKey(x: string, y: string): Buffer {
  const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01])
  const point = (name: number, value: string) => [
    Buffer.from([name]),
    cborBytes(Buffer.from(value, 'base64url')),
  ]
  return Buffer.concat([head, ...point(0x21, x), ...point(0x22, y)])
}

function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)])
}

function cborBytes(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([0x58, bytes.length]), bytes])
}
