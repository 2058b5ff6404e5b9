import { randomBytes } from 'node:crypto'

const sealingKey = () => randomBytes(32).toString('base64')
/** Only letters, digits, `-` and `_`, because it is part of database URLs. */
const password = () => randomBytes(32).toString('base64url')
/** Has the prefix of test shops' keys. */
const testShopKey = () => `test_${password()}`

/** Secrets of every release, by the variable that a process reads. */
const ofEveryRelease: Readonly<Record<string, () => string>> = {
  KEY_PEPPER: password,
  CREDENTIALS_KEY: sealingKey,
  ROUTES_SIGNING_KEY: password,
  CABINET_SEALING_KEY: sealingKey,
  ADMINISTRATION_SEALING_KEY: sealingKey,
  WEBHOOK_SECRET: password,
  DATABASE_PASSWORD_WORKER: password,
  DATABASE_PASSWORD_CABINET: password,
  DATABASE_PASSWORD_ADMINISTRATION: password,
  DATABASE_PASSWORD_WEBHOOK: password,
  DATABASE_PASSWORD_OPERATOR: password,
  REDIS_PASSWORD_GATEWAY: password,
  REDIS_PASSWORD_WORKER: password,
  REDIS_PASSWORD_CABINET: password,
}

/** Additional secrets for a demo's databases and test payment provider. */
const ofTrials: Readonly<Record<string, () => string>> = {
  TRIAL_DATABASE_PASSWORD: password,
  TRIAL_REDIS_PASSWORD: password,
  TRIAL_SHOP_SECRET_KEY: testShopKey,
}

/** New values for missing secrets. Existing values never change. */
export function missingSecrets(there: Iterable<string>, isTrial: boolean): Record<string, string> {
  const has = new Set(there)
  const wanted = Object.entries({ ...ofEveryRelease, ...(isTrial ? ofTrials : {}) })
  return Object.fromEntries(wanted.filter(([name]) => !has.has(name)).map(([name, make]) => [name, make()]))
}
