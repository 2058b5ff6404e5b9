import { createHash } from 'node:crypto'
import {
  cabinetRedisUser,
  gatewayRedisUser,
  type RedisUser,
  workerRedisUser,
} from '#cabinet/admission/redis-users'

/** What each process says to Redis. */
export type RedisPasswords = Readonly<Record<'gateway' | 'worker' | 'cabinet', string>>

/** A user and its rules, as `ACL SETUSER` takes them. It has this password and no other, which Redis is told as a hash. */
export function usersOf(passwords: RedisPasswords): readonly (readonly [string, ...string[]])[] {
  const entry = ({ name, rules }: RedisUser, password: string) =>
    [name, ...rules, 'on', 'resetpass', hashOf(password)] as const
  return [
    entry(gatewayRedisUser, passwords.gateway),
    entry(workerRedisUser, passwords.worker),
    entry(cabinetRedisUser, passwords.cabinet),
  ]
}

/** The text of an `aclfile`: the processes, and `default`, who may do everything. */
export function aclFile(passwords: RedisPasswords, ownersPassword: string): string {
  const owner = ['default', 'on', hashOf(ownersPassword), '~*', '&*', '+@all']
  return [owner, ...usersOf(passwords)].map((words) => `user ${words.join(' ')}\n`).join('')
}

function hashOf(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`
}
