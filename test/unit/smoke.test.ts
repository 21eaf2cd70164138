import t from 'tap';
t.test('one', async (t) => { t.equal(1, 1); });
