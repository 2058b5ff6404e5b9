import type { ru } from './received-messages.ru.ts'

export const en: typeof ru = {
  invitation: (organization: string) => `You are invited to ${organization}. {Respond to the invitation}`,
}
