export const ru = {
  organizations: 'Ваши организации',
  chooseOrganization: (name: string) => `Организация: ${name}. Выбрать другую`,
  roles: { owner: 'владелец', developer: 'разработчик', accountant: 'бухгалтер' },
  noOrganization: 'Нет организации',
  notMember: 'Вы больше не участник этой организации',
  notMemberLead: 'Владелец исключил вас, или вы вышли сами. Выберите другую организацию.',
  noOrganizationLead: (email: string) =>
    `Вы не состоите ни в одной организации. Попросите владельца пригласить вас по адресу ${email}.`,
}
