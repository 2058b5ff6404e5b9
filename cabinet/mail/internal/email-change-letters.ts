import type { LetterContent } from './letter-content.ts'

type Content = Extract<
  LetterContent,
  { readonly kind: 'email_change' | 'email_change_approval' | 'email_changed' }
>

type Draft = {
  readonly subject: string
  readonly paragraphs: readonly (string | { readonly link: string })[]
}

/** The emails of a change of address: to the new one, to the present one, and to the former one. Pure. */
export function draftEmailChangeInRussian(content: Content): Draft {
  switch (content.kind) {
    case 'email_change':
      return {
        subject: 'Подтвердите новый адрес',
        paragraphs: [
          'Этот адрес хотят сделать адресом учётной записи в Model Gateway. Чтобы подтвердить его, откройте ссылку:',
          { link: content.vars.link },
          'Ссылка действует сутки. Адрес сменится, когда его подтвердят и с прежнего адреса. Если вы об этом не просили, ничего не делайте.',
        ],
      }
    case 'email_change_approval':
      return {
        subject: 'Смена адреса вашей учётной записи',
        paragraphs: [
          `Адрес вашей учётной записи в Model Gateway хотят сменить на ${content.vars.email}. Чтобы разрешить или отменить это, откройте ссылку:`,
          { link: content.vars.link },
          'Ссылка действует сутки. Если вы об этом не просили, отмените смену по ссылке и сразу смените пароль: его знает кто-то другой.',
        ],
      }
    case 'email_changed':
      return {
        subject: 'Адрес вашей учётной записи изменён',
        paragraphs: [
          `Адрес вашей учётной записи в Model Gateway теперь ${content.vars.email}. Смену подтвердили с обоих адресов, все входы завершены.`,
          'Если это были не вы, сразу напишите в поддержку с этого адреса.',
        ],
      }
  }
}

export function draftEmailChangeInEnglish(content: Content): Draft {
  switch (content.kind) {
    case 'email_change':
      return {
        subject: 'Confirm your new address',
        paragraphs: [
          'This address was entered as the new address of a Model Gateway account. To confirm it, open this link:',
          { link: content.vars.link },
          'The link works for 24 hours. The address changes once the present address confirms it too. If you did not ask for this, you can ignore this email.',
        ],
      }
    case 'email_change_approval':
      return {
        subject: 'Change of your account address',
        paragraphs: [
          `The address of your Model Gateway account is about to change to ${content.vars.email}. To allow or cancel this, open this link:`,
          { link: content.vars.link },
          'The link works for 24 hours. If you did not ask for this, cancel it and change your password now: another person knows it.',
        ],
      }
    case 'email_changed':
      return {
        subject: 'Your account address was changed',
        paragraphs: [
          `The address of your Model Gateway account is now ${content.vars.email}. Both addresses confirmed it, and all sessions have ended.`,
          'If this was not you, contact support from this address now.',
        ],
      }
  }
}
