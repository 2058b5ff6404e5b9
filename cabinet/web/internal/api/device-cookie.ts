import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { derivedKeys } from '#core/process/derived-keys'
import type { KeyList } from '#core/process/key-list'
import type { Device } from '../../../api/endpoint.ts'

/** The longest time that browsers keep a cookie (RFC 6265bis). */
const maxAgeS = 400 * 86_400
const attributes = { path: '/', secure: true, httpOnly: true, sameSite: 'lax', maxAge: maxAgeS } as const
/** Users of a shared computer. The one unseen for longest is forgotten. */
const usersMax = 4

const deviceSchema = z.strictObject({ id: z.uuid(), userIds: z.array(z.uuid()).min(1).max(usersMax) })

/**
 * Remembers on a device which users have signed in with it. The cookie is signed and is not a session, so nothing is
 * stored.
 */
export type DeviceCookies = {
  find(request: FastifyRequest): Device | undefined
  /** Adds a user to this device. */
  set(request: FastifyRequest, reply: FastifyReply, userId: string): void
}

/** All keys of the list verify. The first one signs. @param cookieName begins with `__Host-`: only this host can set it. */
export function createDeviceCookies(sealingKeys: KeyList<Uint8Array>, cookieName: string): DeviceCookies {
  const keys = derivedKeys(sealingKeys, 'model-gateway device')

  function find(request: FastifyRequest): Device | undefined {
    const [text = '', signature = ''] = (request.cookies[cookieName] ?? '').split('.')
    const given = Buffer.from(signature, 'base64url')
    const isOurs = keys.some((key) => {
      const own = sign(key, text)
      return own.length === given.length && timingSafeEqual(own, given)
    })
    return isOurs ? deviceSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString())) : undefined
  }

  return {
    find,
    set(request, reply, userId) {
      const { id, userIds } = find(request) ?? { id: randomUUID(), userIds: [] }
      const all = [userId, ...userIds.filter((other) => other !== userId)].slice(0, usersMax)
      const text = Buffer.from(JSON.stringify({ id, userIds: all })).toString('base64url')
      reply.setCookie(cookieName, `${text}.${sign(keys[0], text).toString('base64url')}`, attributes)
    },
  }
}

function sign(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
