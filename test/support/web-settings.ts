import { secrets } from './processes.ts'

/** Where administrators reach administration in a test. */
export const administrationUrl = 'http://localhost:3003'

/** Settings of the administration process except its database; Redis is unavailable by default. */
export const administrationSettings = {
  ADMINISTRATION_SEALING_KEY: secrets.ADMINISTRATION_SEALING_KEY,
  CREDENTIALS_KEY: secrets.CREDENTIALS_KEY,
  REDIS_URL: 'redis://127.0.0.1:1',
  ADMINISTRATION_URL: administrationUrl,
  ADMINISTRATION_PORT: '0',
  ADMINISTRATION_ADMIN_PORT: '0',
  ADMINISTRATION_HOST: '127.0.0.1',
} as const

/** Where people open the cabinet of a test. */
export const appUrl = 'http://localhost:3000'

/** Settings of the cabinet's web process except its database; Redis is unavailable by default. */
export const webSettings = {
  ...secrets,
  REDIS_URL: 'redis://127.0.0.1:1',
  APP_URL: appUrl,
  GATEWAY_BASE_URL: 'http://localhost:8080/v1',
  CABINET_PORT: '0',
  CABINET_ADMIN_PORT: '0',
  CABINET_HOST: '127.0.0.1',
} as const
