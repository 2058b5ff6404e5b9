import { en } from './passkey-messages.en.ts'
import { ru } from './passkey-messages.ru.ts'

export const passkeyWords = { ru, en }
