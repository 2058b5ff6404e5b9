import { z } from 'zod'

/** A token as BotFather shows it: the number of the bot, a colon, and its secret. */
export const telegramTokenSetting = z
  .string()
  .regex(/^\d{1,20}:[\w-]{30,100}$/, 'must be a token of BotFather: <number>:<secret>')

/** Where the Bot API is; without a slash at its end. */
export const telegramUrlSetting = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .default('https://api.telegram.org')
  .transform((url) => url.replace(/\/+$/, ''))
