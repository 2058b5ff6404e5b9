import type { LetterContent } from './letter-content.ts'

type Invitation = Extract<LetterContent, { readonly kind: 'invitation' }>['vars']

type Draft = {
  readonly subject: string
  readonly paragraphs: readonly (string | { readonly link: string })[]
}

const roles = {
  ru: { owner: 'владелец', developer: 'разработчик', accountant: 'бухгалтер' },
  en: { owner: 'owner', developer: 'developer', accountant: 'accountant' },
} as const

/** The email that invites an address to an organization. Pure. */
export function draftInvitationInRussian({ organization, role, sender, link }: Invitation): Draft {
  return {
    subject: `Приглашение в организацию ${organization}`,
    paragraphs: [
      `${sender} приглашает вас в организацию ${organization} в Model Gateway. Ваша роль: ${roles.ru[role]}. Чтобы ответить, откройте ссылку:`,
      { link },
      'Войдите или зарегистрируйтесь с этим адресом почты. Приглашение действует 7 дней. Если вы не знаете отправителя, ничего не делайте.',
    ],
  }
}

export function draftInvitationInEnglish({ organization, role, sender, link }: Invitation): Draft {
  return {
    subject: `Invitation to the organization ${organization}`,
    paragraphs: [
      `${sender} invites you to the organization ${organization} on Model Gateway. Your role: ${roles.en[role]}. To respond, open this link:`,
      { link },
      'Sign in or register with this email address. The invitation is valid for 7 days. If you do not know the sender, you can ignore this email.',
    ],
  }
}
