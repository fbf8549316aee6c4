// Runs Kubernetes' own LimitRanger, PodSecurity and ResourceQuota on pods.
//
// Reads lines of {"pod": ..., "enforce": "...", "limitRanges": [...], "resourceQuotas": [...]} from
// standard input and writes a line for each: {"seen": ..., "refused": "..."}. "enforce" is the Pod
// Security level of the namespace; without it, the level is privileged. "seen" is the pod with the
// defaults of core/v1 and of LimitRanger, as a mutating webhook receives it. "refused" is the error
// that refuses the pod, or "" if the pod is admitted. The order is the same as in kube-apiserver:
// defaults, validation of the pod, validation by LimitRanger, PodSecurity, quotas.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	quota "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/clock"
)

type call struct {
	Pod            corev1.Pod             `json:"pod"`
	Enforce        api.Level              `json:"enforce"`
	LimitRanges    []*corev1.LimitRange   `json:"limitRanges"`
	ResourceQuotas []corev1.ResourceQuota `json:"resourceQuotas"`
}

type answer struct {
	Seen    corev1.Pod `json:"seen"`
	Refused string     `json:"refused"`
}

var (
	kind     = corev1.SchemeGroupVersion.WithKind("Pod")
	resource = corev1.SchemeGroupVersion.WithResource("pods")
)

func main() {
	if err := judgeAll(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func judgeAll(in io.Reader, out io.Writer) error {
	reader, writer := bufio.NewReader(in), bufio.NewWriter(out)
	for {
		// A bufio.Scanner would limit the length of lines.
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			answer, problem := judge(line)
			if problem != nil {
				return problem
			}
			writer.Write(answer)
			writer.WriteByte('\n')
		}
		if errors.Is(err, io.EOF) {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func judge(line []byte) ([]byte, error) {
	var asked call
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	pod, err := mutated(asked)
	if err != nil {
		return nil, err
	}
	var told answer
	if err := v1.Convert_core_Pod_To_v1_Pod(pod, &told.Seen, nil); err != nil {
		return nil, err
	}
	if err := validate(pod, asked); err != nil {
		told.Refused = err.Error()
	}
	return json.Marshal(told)
}

// mutated returns the pod with all defaults, including the defaults of the LimitRanges.
func mutated(asked call) (*core.Pod, error) {
	v1.SetObjectDefaults_Pod(&asked.Pod)
	pod := &core.Pod{}
	if err := v1.Convert_v1_Pod_To_core_Pod(&asked.Pod, pod, nil); err != nil {
		return nil, err
	}
	for _, limitRange := range asked.LimitRanges {
		v1.SetObjectDefaults_LimitRange(limitRange)
		if err := limitranger.PodMutateLimitFunc(limitRange, pod); err != nil {
			return nil, err
		}
	}
	return pod, nil
}

func validate(pod *core.Pod, asked call) error {
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
	if problems := validation.ValidatePodCreate(pod, options); len(problems) > 0 {
		return problems.ToAggregate()
	}
	for _, limitRange := range asked.LimitRanges {
		if err := limitranger.PodValidateLimitFunc(limitRange, pod); err != nil {
			return err
		}
	}
	if err := secure(pod, asked.Enforce); err != nil {
		return err
	}
	attributes := admission.NewAttributesRecord(pod, nil, kind, pod.Namespace, pod.Name, resource, "",
		admission.Create, &metav1.CreateOptions{}, false, nil)
	evaluator := quota.NewPodEvaluator(nil, clock.RealClock{})
	_, err := resourcequota.CheckRequest(asked.ResourceQuotas, attributes, evaluator, nil)
	return err
}

// secure returns an error if the Pod Security level refuses the pod.
func secure(pod *core.Pod, level api.Level) error {
	if level == "" {
		return nil
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	var object corev1.Pod
	if err := v1.Convert_core_Pod_To_v1_Pod(pod, &object, nil); err != nil {
		return err
	}
	version := api.LevelVersion{Level: level, Version: api.LatestVersion()}
	results := evaluator.EvaluatePod(version, &object.ObjectMeta, &object.Spec)
	if result := policy.AggregateCheckResults(results); !result.Allowed {
		return errors.New(result.ForbiddenDetail())
	}
	return nil
}
