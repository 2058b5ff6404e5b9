import { z } from 'zod'
import { inScope } from '../audit/scope.ts'
import { runOnDatabase } from '../db/run-on-database.ts'
import { type Revoked, revokeByCommand } from './internal/revoke-by-command.ts'

/**
 * `npm run revoke -- KEY_ID`: permanently revokes a key, managed by a cluster or not. It works without a
 * cabinet.
 */
const asked = z.uuid().safeParse(process.argv[2])
if (!asked.success || process.argv.length !== 3) {
  process.stderr.write(
    'Usage: npm run revoke -- KEY_ID\nKEY_ID is status.keyID of an ApiKey, or the annotation modelgateway.dev/key-id of its Secret.\n',
  )
  process.exit(2)
}
const keyId = asked.data
await runOnDatabase('revoke', process.env, async (pool) => {
  const revoked = await revokeByCommand(pool, keyId, (work) =>
    inScope(pool, { actor: { kind: 'command', name: 'npm run revoke' }, organizationId: null }, work),
  )
  process.stdout.write(`${sentenceOf(revoked)}\n`)
  if (revoked.is === 'unknown' || revoked.is === 'unheard') process.exitCode = 1
})

function sentenceOf(revoked: Revoked): string {
  if (revoked.is === 'unknown') return `Key ${keyId} not found. Check the key ID.`
  const key = `key ${keyId} ("${revoked.name}" of organization ${revoked.organization})`
  const ended = revoked.was === 'revoked' ? `The ${key} was already revoked` : `Revoked the ${key}`
  return revoked.is === 'refused'
    ? `${ended}: every gateway rejects it.`
    : `${ended}, but gateways still accept it: no worker has sent them the revocation. Start the worker, then run this command again to check.`
}
