package backend

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// VisibleDevices is the variable that says which GPUs a process may see.
const VisibleDevices = "CUDA_VISIBLE_DEVICES"

// VisibleGPUs names the GPUs that this process may open, in the words of CUDA_VISIBLE_DEVICES (numbers or UUIDs) and in its
// order; without that variable, the numbers of all GPUs that the driver lists. A process that is given one of the words in
// that variable sees this GPU alone. It opens nothing.
func VisibleGPUs() []string {
	listed, set := os.LookupEnv(VisibleDevices)
	if !set {
		return driverGPUs()
	}
	var gpus []string
	for _, word := range strings.Split(listed, ",") {
		word = strings.TrimSpace(word)
		if word == "" || strings.HasPrefix(word, "-") { // CUDA reads no further than the first word that names none
			break
		}
		gpus = append(gpus, word)
	}
	return gpus
}

// driverGPUs are the numbers of the GPUs that nvidia-smi lists, none without a driver.
func driverGPUs() []string {
	out, err := exec.Command("nvidia-smi", "-L").Output()
	if err != nil {
		return nil
	}
	var gpus []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "GPU ") { // the parts of a divided GPU stand below it, indented
			gpus = append(gpus, strconv.Itoa(len(gpus)))
		}
	}
	return gpus
}

// QueryGPU asks the driver one thing, by its name in nvidia-smi --query-gpu, about the GPU that this process computes on. Units
// are left out.
func QueryGPU(query string) (string, error) {
	out, err := exec.Command("nvidia-smi", append([]string{"--query-gpu=" + query, "--format=csv,noheader,nounits"}, onFirstGPU()...)...).Output()
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(first), nil
}

// onFirstGPU makes nvidia-smi, which knows nothing of CUDA_VISIBLE_DEVICES, look at the first visible GPU. A part of a divided
// GPU cannot be named to it.
func onFirstGPU() []string {
	first := firstGPU(os.Getenv(VisibleDevices))
	if strings.HasPrefix(first, "MIG-") {
		return nil
	}
	return []string{"-i", first}
}
