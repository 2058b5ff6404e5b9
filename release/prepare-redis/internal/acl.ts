import {
  cabinetRedisUser,
  gatewayRedisUser,
  loginOf,
  ownersLogin,
  workerRedisUser,
} from '#core/admission/redis-users'

/** Each process's Redis password. */
export type RedisPasswords = Readonly<Record<'gateway' | 'worker' | 'cabinet', string>>

/** The processes' users, as arguments of `ACL SETUSER`. */
export function usersOf(passwords: RedisPasswords): readonly (readonly [string, ...string[]])[] {
  return [
    loginOf(gatewayRedisUser, passwords.gateway),
    loginOf(workerRedisUser, passwords.worker),
    loginOf(cabinetRedisUser, passwords.cabinet),
  ]
}

/** The text of an `aclfile`: the processes' users, and `default` with all permissions. */
export function aclFile(passwords: RedisPasswords, ownersPassword: string): string {
  return [ownersLogin(ownersPassword), ...usersOf(passwords)]
    .map((words) => `user ${words.join(' ')}\n`)
    .join('')
}
