// Lists the microphones that can be chosen.

/** Without the browser's own entries for the default one. Labels are empty before a microphone was allowed. */
export async function listMicrophones(): Promise<{ id: string; label: string }[]> {
  const devices = (await navigator.mediaDevices?.enumerateDevices()) ?? [];
  return devices
    .filter(({ kind, deviceId }) => kind === 'audioinput' && !/^(default|communications)?$/.test(deviceId))
    .map(({ deviceId, label }) => ({ id: deviceId, label }));
}
