import {
  cabinetRedisUser,
  gatewayRedisUser,
  loginOf,
  ownersLogin,
  workerRedisUser,
} from '#cabinet/admission/redis-users'

/** What each process says to Redis. */
export type RedisPasswords = Readonly<Record<'gateway' | 'worker' | 'cabinet', string>>

/** The users of the processes, as `ACL SETUSER` takes them. */
export function usersOf(passwords: RedisPasswords): readonly (readonly [string, ...string[]])[] {
  return [
    loginOf(gatewayRedisUser, passwords.gateway),
    loginOf(workerRedisUser, passwords.worker),
    loginOf(cabinetRedisUser, passwords.cabinet),
  ]
}

/** The text of an `aclfile`: the processes, and `default`, who may do everything. */
export function aclFile(passwords: RedisPasswords, ownersPassword: string): string {
  return [ownersLogin(ownersPassword), ...usersOf(passwords)]
    .map((words) => `user ${words.join(' ')}\n`)
    .join('')
}
