export const ru = {
  invitation: (organization: string) =>
    `Вас пригласили в организацию ${organization}. {Ответить на приглашение}`,
}
