// Declares the body that links a user with a device.
import { Text } from '../../http/schemas.js';
import { Type } from '../../typebox.js';

export const DeviceLink = Type.Object(
  {
    serial: Text('Serial of the device. The service creates an unknown device.'),
    site: Type.Optional(Text('Site of a device that this creates. Otherwise unused.')),
    name: Type.Optional(Text('Name of a device that this creates. Otherwise unused. Default: the serial.')),
  },
  { title: 'DeviceLink', examples: [{ serial: 'SN-1', site: 'Depot', name: 'Engine 4' }] },
);
